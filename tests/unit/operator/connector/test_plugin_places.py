"""A Connector whose converters and transforms come from PluginVersions of their own (KIP-891)."""

from typing import Any

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_model.contracts.task_spec import PluginReference
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION

from .test_plugin_versions import VERIFIED, image
from .test_plugin_versions import mounted as mounted_images
from .world.cluster import KEY
from .world.plugins import invalid, tasks_of
from .world.world import World

CLASSES = {
    "ticker": {"alias": "Ticker", "type": "source"},
    "avro": {"alias": "AvroConverter", "type": "converter"},
    "smts": {"alias": "Trim", "type": "transform"},
}


def apply(world: World, plugin: str, *versions: str) -> None:
    for version in versions:
        spec = {"plugin": plugin, "version": version, "image": of(plugin, version), "classes": [CLASSES[plugin]]}
        metadata = {"name": f"{plugin}-{version}", "namespace": KEY.namespace}
        document = {"apiVersion": PLUGIN_VERSION.api_version, "kind": PLUGIN_VERSION.kind, "metadata": metadata}
        world.server.add({**document, "spec": spec, "status": VERIFIED})


def of(plugin: str, version: str) -> str:
    return image(version).replace("ticker", plugin)


def running(
    *there: tuple[str, str], worker: dict[str, str] | None = None, class_name: str = "Ticker", **spec: Any
) -> World:
    """A Connector; its plan pods answer with the versions that they mount, and refuse converters that are not there."""

    def plugin(connector: Connector) -> JobAnswer | list[str]:
        plans = [r for r in world.requests.values() if r.action is Action.PLAN]
        request = [r for r in plans if r.connector["spec"].get("version") == connector.spec.version][-1]
        by_place = {p: m for m in request.mounts for p in m.places}
        config = request.connector["spec"]["config"]
        if str(config.get("value.converter", "")).startswith("Avro") and "value.converter" not in by_place:
            return invalid(JobProblem(property="value.converter", message="Class AvroConverter could not be found."))
        answer = tasks_of(world.document["spec"]["tasksMax"], **config)
        versions = {"connector": "1.4.2", **{p: m.version for p, m in by_place.items()}}
        plugins = {p: PluginReference(reference="x:Y", alias=p, version=v) for p, v in versions.items()}
        tasks = tuple(t.model_copy(update={"plugins": plugins}) for t in answer.tasks)
        answer = answer.model_copy(update={"version": versions["connector"], "class_name": class_name, "tasks": tasks})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer)

    values = {"worker": {"bootstrap.servers": "kafka:9092", **worker}} if worker else None
    world = World(spec={"class": class_name, "tasksMax": 1, **spec}, plugin=plugin, values=values)
    for name, version in there:
        apply(world, name, version)
    world.settle()
    return world


def runs(world: World) -> dict[str, str]:
    """The PluginVersions by place, where status, task spec, plan and pod agree on them."""
    assert world.condition("Ready").startswith("True"), world.status["conditions"]
    (plan,) = (p for p in world.plans if p.hash == world.status["operatorState"]["plan"]["hash"])
    assert world.status.get("pluginVersions", []) == sorted(m.name for m in plan.mounts)
    assert world.status["connector"].get("pluginVersion") == plan.plugin_version("connector")
    for task in world.status["tasks"]:
        assert mounted_images(world, task["pod"]) == [m.image for m in plan.mounts]
    for spec in plan.tasks:
        assert [m.image for m in spec.mounts] == [m.image for m in plan.mounts]
        assert not any(m.places or m.classes for m in spec.mounts)
    return {p: m.name for m in plan.mounts for p in m.places}


ALL = [("ticker", "1.0.0"), ("avro", "2.0.0"), ("avro", "3.0.0"), ("smts", "1.0.0"), ("smts", "1.1.0")]
AVRO = {"value.converter": "Avro"}
TRIM = {"transforms": "t", "transforms.t.type": "Trim"}


def test_each_place_runs_the_version_that_it_asks_for_in_one_pod() -> None:
    config = {**AVRO, "value.converter.plugin.version": "2.0.0", **TRIM, "transforms.t.plugin.version": "[1,1.1)"}
    world = running(*ALL, config=config)
    assert runs(world) == {
        "connector": "ticker-1.0.0",
        "value.converter": "avro-2.0.0",
        "transforms.t": "smts-1.0.0",
    }


def test_a_built_in_connector_may_have_a_converter_from_an_image() -> None:
    world = running(*ALL, class_name="FileStreamSource", config=AVRO)
    assert runs(world) == {"value.converter": "avro-3.0.0"}
    assert "pluginVersion" not in world.status["connector"]


def test_the_converter_of_the_worker_comes_from_an_image_and_a_wrong_version_of_it_stops_no_task() -> None:
    worker = {"value.converter": "AvroConverter", "value.converter.plugin.version": "2.0.0"}
    world = running(*ALL, class_name="FileStreamSource", worker=worker)
    assert runs(world) == {"value.converter": "avro-2.0.0"}
    lives = list(world.lives)
    world.values = {"worker": {"bootstrap.servers": "kafka:9092", **worker, "value.converter.plugin.version": "[7,)"}}
    world.start_operator()
    world.settle()
    assert "worker configuration, value.converter.plugin.version: Plugin AvroConverter not" in world.condition("Ready")
    assert world.lives == lives
    world.change(config={"value.converter": "JsonConverter"})  # it is not concerned
    world.settle()
    assert runs(world) == {}


def test_only_the_place_that_asks_again_changes() -> None:
    world = running(*ALL, config={**AVRO, "value.converter.plugin.version": "[2,3)"})
    assert runs(world) == {"connector": "ticker-1.0.0", "value.converter": "avro-2.0.0"}
    apply(world, "ticker", "1.5.0")
    apply(world, "avro", "2.5.0")
    world.change(config={**AVRO, "value.converter.plugin.version": "[2,3)", **TRIM})
    world.settle()
    assert runs(world) == {
        "connector": "ticker-1.0.0",
        "value.converter": "avro-2.0.0",
        "transforms.t": "smts-1.1.0",
    }
    apply(world, "smts", "1.2.0")
    world.change(config={**AVRO, "value.converter.plugin.version": "[2,2.6)", **TRIM}, tasksMax=2)
    world.settle()
    assert runs(world) == {
        "connector": "ticker-1.0.0",
        "value.converter": "avro-2.5.0",
        "transforms.t": "smts-1.1.0",
    }
    world.change(version="[1,2)")
    world.settle()
    assert runs(world)["connector"] == "ticker-1.5.0"
    assert runs(world)["transforms.t"] == "smts-1.1.0"
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert runs(world)["transforms.t"] == "smts-1.2.0"
    world.change(config={})
    world.settle()
    assert runs(world) == {"connector": "ticker-1.5.0"}


def test_a_converter_before_its_plugin_version_is_in_progress_and_follows_automatically() -> None:
    world = running(("ticker", "1.0.0"), ("avro", "2.0.0"), config={**AVRO, "value.converter.plugin.version": "3.0.0"})
    told = (
        "value.converter.plugin.version: Plugin Avro not found that matches the version range [3.0.0,3.0.0], available"
    )
    assert world.condition("Ready").startswith(f"False PluginVersionMissing: {told} versions: [2.0.0]")
    assert world.condition("Stalled") == "False NotStalled: "
    assert not world.requests
    apply(world, "avro", "3.0.0")
    world.settle()
    assert runs(world) == {"connector": "ticker-1.0.0", "value.converter": "avro-3.0.0"}


def test_a_converter_that_nothing_offers_is_reported_and_found_as_soon_as_one_does() -> None:
    world = running(("ticker", "1.0.0"), config=AVRO)
    assert "value.converter: Class AvroConverter could not be found" in world.condition("ConfigValid")
    assert world.condition("ConfigValid").endswith("no PluginVersion of this namespace offers Avro")
    apply(world, "avro", "1.0.0")
    world.settle()
    assert runs(world) == {"connector": "ticker-1.0.0", "value.converter": "avro-1.0.0"}


def test_lost_pods_come_back_with_all_their_images_also_after_the_plugin_versions_were_deleted() -> None:
    world = running(*ALL, config={**AVRO, **TRIM})
    before = runs(world)
    for name in ("ticker-1.0.0", "avro-3.0.0", "avro-2.0.0", "smts-1.1.0", "smts-1.0.0"):
        world.server.remove(PLUGIN_VERSION, KEY.namespace, name)
    world.settle()
    world.vanish(world.task(0).name)
    world.start_operator()
    world.settle()
    assert runs(world) == before
    world.change(tasksMax=2)
    world.settle()
    assert runs(world) == before
    world.change(config={**AVRO, **TRIM, "value.converter.plugin.version": "[1,)"})
    world.settle()
    assert world.condition("Ready").startswith(
        "False PluginVersionMissing: value.converter: no PluginVersion of this namespace offers Avro any longer"
    )
    world.change(config=TRIM)  # what is left is kept
    world.settle()
    assert runs(world) == {"connector": "ticker-1.0.0", "transforms.t": "smts-1.1.0"}


def test_a_transform_of_another_version_of_the_connectors_distribution_is_refused_before_any_pod() -> None:
    world = running(*ALL, config=TRIM)
    lives, jobs = list(world.lives), len(world.requests)
    document = {"apiVersion": PLUGIN_VERSION.api_version, "kind": PLUGIN_VERSION.kind}
    for v in ("3.0.0", "4.0.0"):
        spec = {"plugin": "ticker", "version": v, "image": of("ticker", v)}
        both = [CLASSES["ticker"], {"alias": "Cut", "type": "transform"}]
        metadata = {"name": f"ticker-{v}", "namespace": KEY.namespace}
        world.server.add({**document, "metadata": metadata, "spec": {**spec, "classes": both}})
    cut = {"transforms": "c", "transforms.c.type": "Cut", "transforms.c.plugin.version": "4.0.0"}
    world.change(version="3.0.0", config=cut)
    world.settle()
    assert "requests version [4.0.0,4.0.0] of ticker, but the connector runs 3.0.0" in world.condition("Stalled")
    assert len(world.requests) == jobs
    assert world.lives == lives
    world.change(version="4.0.0", config=cut)
    world.settle()
    assert runs(world) == {"connector": "ticker-4.0.0", "transforms.c": "ticker-4.0.0"}


def test_newer_versions_in_the_ranges_that_are_asked_for_are_reported_and_taken_up_by_a_restart() -> None:
    config = {**AVRO, "value.converter.plugin.version": "[2,3)", **TRIM}
    world = running(*ALL, version="[1,2)", config=config)
    assert "newerPluginVersions" not in world.status
    for name, version in (("ticker", "1.5.0"), ("ticker", "2.0.0"), ("avro", "2.5.0"), ("smts", "0.9")):
        apply(world, name, version)
    world.settle()
    assert world.status["newerPluginVersions"] == ["avro-2.5.0", "ticker-1.5.0"]
    world.server.remove(PLUGIN_VERSION, KEY.namespace, "avro-2.5.0")
    world.settle()
    assert world.status["newerPluginVersions"] == ["ticker-1.5.0"]
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert runs(world)["connector"] == "ticker-1.5.0"
    assert "newerPluginVersions" not in world.status


def test_both_versions_are_named_as_in_use_until_the_last_pod_of_the_old_one_is_gone() -> None:
    world = running(*ALL, ("ticker", "2.0.0"), version="1.0.0", tasksMax=2, rollout={"canaryTasks": 0})
    world.change(version="2.0.0")
    in_use: list[tuple[str, ...]] = []
    for _ in range(60):
        world.reconcile()
        living = {v for p in world.pods.values() if isinstance(p, TaskPod) for v in p.plugin_versions if not p.ended}
        assert living <= {*world.status["pluginVersions"]}
        if (now := tuple(world.status["pluginVersions"])) not in in_use:
            in_use.append(now)
        world.tick()
    assert in_use == [("ticker-1.0.0",), ("ticker-1.0.0", "ticker-2.0.0"), ("ticker-2.0.0",)]


def test_the_way_back_needs_no_plan_pod() -> None:
    world = running(*ALL, ("ticker", "2.0.0"), version="1.0.0", tasksMax=2)
    world.change(version="2.0.0")
    world.settle()
    assert runs(world)["connector"] == "ticker-2.0.0"
    jobs = len(world.requests)
    world.change(version="1.0.0")
    world.settle()
    assert runs(world)["connector"] == "ticker-1.0.0"
    assert len(world.requests) == jobs


def test_a_version_that_no_restart_would_take_up_is_not_reported() -> None:
    world = running(*ALL, version="[1,2)", config=TRIM)
    for version in ("1.0.0", "1.1.0"):
        world.server.remove(PLUGIN_VERSION, KEY.namespace, f"smts-{version}")
    apply(world, "ticker", "1.5.0")  # a restart would miss the transform
    world.settle()
    assert "newerPluginVersions" not in world.status
    assert world.condition("Ready").startswith("True")
