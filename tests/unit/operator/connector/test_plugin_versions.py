"""A Connector whose plugin comes from a PluginVersion (KIP-891): what is chosen, when that changes, and what pods mount."""

import json
from typing import Any

import pytest

from penstock_model.connect import plugin_names
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_operator.connector.model.plan_config_map import config_map_of, plan_of
from penstock_operator.connector.model.plans import PodSettings, plan_hash
from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION, Kind

from .world.cluster import KEY
from .world.plugins import invalid, tasks_of
from .world.world import World

Json = dict[str, Any]


def image(version: str) -> str:
    return f"plugins.example/ticker@sha256:{version.replace('.', '').rjust(64, '0')}"


VERIFIED: Json = {"conditions": [{"type": "Ready", "status": "True", "reason": "Verified", "message": ""}]}


def unverified(reason: str = "Verifying", message: str = "", *, is_final: bool = False) -> Json:
    """The status of a PluginVersion into which no pod has looked with success."""
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": message}
    return {"conditions": [ready, {**ready, "type": "Stalled", "status": str(is_final)}]}


def set_status(world: World, version: str, status: Json) -> None:
    world.server.edit(PLUGIN_VERSION, KEY.namespace, f"ticker-{version}", lambda d: d.update(status=status))


def apply(world: World, version: str, *, name: str = "", status: Json = VERIFIED, **spec: Any) -> None:
    whole = {
        "plugin": "penstock-ticker",
        "version": version,
        "image": image(version),
        "classes": [{"alias": "Ticker", "type": "source", "javaNames": ["org.example.Clock"]}],
        **spec,
    }
    metadata = {"name": name or f"ticker-{version}", "namespace": KEY.namespace}
    api = {"apiVersion": PLUGIN_VERSION.api_version, "kind": PLUGIN_VERSION.kind}
    world.server.add({**api, "metadata": metadata, "spec": whole, "status": status})


def ticking(*versions: str, **spec: Any) -> World:
    """A Connector of class Ticker; its plan pods answer with the version that they mount, or that the class is not there."""

    def plugin(_: Any) -> JobAnswer | list[str]:
        request = [r for r in world.requests.values() if r.action is Action.PLAN][-1]
        if not request.mounts:
            return invalid(JobProblem(property="spec.class", message="Class Ticker could not be found."))
        answer = tasks_of(world.document["spec"]["tasksMax"], **request.connector["spec"]["config"])
        answer = answer.model_copy(update={"version": request.mounts[0].version, "class_name": "Ticker"})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer)

    world = World(spec={"class": "Ticker", "tasksMax": 1, **spec}, plugin=plugin)
    for version in versions:
        apply(world, version)
    world.settle()
    return world


def runs(world: World) -> str:
    """The version in the status, where status, task spec and pod agree on it."""
    assert world.condition("Ready").startswith("True"), world.status["conditions"]
    plugin = world.status["connector"]
    assert plugin["pluginVersion"] == f"ticker-{plugin['version']}"
    for task in world.status["tasks"]:
        assert mounted(world, task["pod"]) == [image(plugin["version"])]
    (plan,) = (p for p in world.plans if p.hash == world.status["operatorState"]["plan"]["hash"])
    assert {m.image for t in plan.tasks for m in t.mounts} == {image(plugin["version"])}
    return str(plugin["version"])


def mounted(world: World, pod: str) -> list[str]:
    spec = world.manifest(pod)["spec"]
    volumes = {v["name"]: v["image"]["reference"] for v in spec["volumes"] if "image" in v}
    places = {m["name"]: m for m in spec["containers"][0]["volumeMounts"]}
    for n, name in enumerate(volumes):
        assert places[name] == {
            "name": f"penstock-plugin-{n}",
            "mountPath": f"/etc/penstock/plugins/{n}",
            "readOnly": True,
        }
    return list(volumes.values())


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "2.1.0"),
        ("latest", "2.1.0"),
        ("1.0", "1.0.0"),
        ("[1,2)", "1.0.0"),
        ("[1],[2,2.1)", "2.0.0"),
        ("(,)", "2.1.0"),
    ],
)
@pytest.mark.parametrize("name", ["Ticker", "TickerConnector", "org.example.Clock", " Ticker "])
def test_the_newest_version_in_the_range_runs_in_the_image_pinned_by_digest(
    name: str, version: str | None, expected: str
) -> None:
    world = ticking("1.0.0", "2.1.0", "2.0.0", **{"class": name}, version=version)
    assert runs(world) == expected


def test_plan_pods_get_the_declaration_to_compare_and_tasks_the_mounts() -> None:
    world = ticking("1.0.0")
    (request,) = world.requests.values()
    assert [(m.name, m.folder, [c.alias for c in m.classes]) for m in request.mounts] == [
        ("ticker-1.0.0", "/etc/penstock/plugins/0/plugin", ["Ticker"])
    ]
    (task,) = world.plans[-1].tasks
    assert [(m.name, m.classes) for m in task.mounts] == [("ticker-1.0.0", ())]


def test_a_connector_before_its_plugin_version_is_in_progress_and_follows_automatically() -> None:
    world = ticking("1.0.0", version="[2,3)")
    message = "Plugin Ticker not found that matches the version range [2,3), available versions: [1.0.0]"
    assert world.condition("Ready").startswith(f"False PluginVersionMissing: spec.version: {message}")
    assert world.condition("Reconciling").startswith("True PluginVersionMissing")
    assert world.condition("Stalled") == "False NotStalled: "
    assert message in world.condition("ConfigValid")
    assert not world.requests
    apply(world, "2.5.0")
    world.settle()
    assert runs(world) == "2.5.0"


def test_a_class_that_no_plugin_version_offers_is_asked_of_the_runtime_and_found_as_soon_as_one_does() -> None:
    world = ticking()
    assert "spec.class: Class Ticker could not be found" in world.condition("ConfigValid")
    assert world.condition("ConfigValid").endswith("; no PluginVersion of this namespace offers Ticker")
    assert "problems" not in world.condition("ConfigValid")
    assert "problems" not in world.condition("Ready")
    assert [r.mounts for r in world.requests.values()] == [()]
    apply(world, "1.0.0")
    world.settle()
    assert runs(world) == "1.0.0"


def test_a_range_that_nothing_fits_lists_the_versions_and_the_tasks_continue_also_lost_ones() -> None:
    world = ticking("1.0.0", "2.0.0", version="[1,2)")
    lives = list(world.lives)
    world.change(version="[3,)")
    world.settle()
    assert world.condition("ConfigValid").startswith(
        "False ConfigInvalid: spec.version: Plugin Ticker not found that matches"
    )
    assert "available versions: [1.0.0, 2.0.0]" in world.condition("Ready")
    assert "the tasks keep the last good configuration" in world.condition("Ready")
    assert world.status["state"] == "Running"
    assert world.lives == lives
    world.vanish(world.task(0).name)
    world.settle()
    assert mounted(world, world.task(0).name) == [image("1.0.0")]
    world.change(version="[1,2)")
    world.settle()
    assert runs(world) == "1.0.0"


def test_only_class_version_and_a_restart_choose_again() -> None:
    world = ticking("1.0.0")
    apply(world, "1.1.0")
    world.settle()
    assert runs(world) == "1.0.0"
    world.change(tasksMax=3)
    world.settle()
    assert runs(world) == "1.0.0"
    world.change(config={"file": "/other"})
    world.settle()
    assert runs(world) == "1.0.0"
    world.change(state="Paused")
    world.settle()
    world.change(state="Stopped")
    world.settle()
    world.change(state="Running")
    world.start_operator()
    world.settle()
    assert runs(world) == "1.0.0"
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert runs(world) == "1.1.0"
    apply(world, "1.2.0")
    world.change(version="[1,2)")
    world.settle()
    assert runs(world) == "1.2.0"


@pytest.mark.parametrize(
    "status",
    [unverified(), unverified("ImagePullBackOff"), unverified("VerificationFailed", "no class", is_final=True)],
    ids=["verified anew", "not pulled", "refused by a later runtime"],
)
def test_a_restart_never_goes_back_from_a_version_that_runs_and_is_verified_again(status: Json) -> None:
    world = ticking("1.0.0", "2.0.0")
    assert runs(world) == "2.0.0"
    set_status(world, "2.0.0", status)
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert runs(world) == "2.0.0"
    assert len(world.lives) == 2
    world.annotations = {"penstock.dev/restart": "b"}
    world.change(version="[1,2)")
    world.settle()
    assert runs(world) == "1.0.0"


def test_another_image_under_the_name_of_what_runs_is_not_taken_before_it_is_verified() -> None:
    world = ticking("1.0.0", "2.0.0")
    world.server.remove(PLUGIN_VERSION, KEY.namespace, "ticker-2.0.0")
    apply(world, "2.0.0", image=image("9.9.9"), status=unverified())
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert runs(world) == "1.0.0"


def test_lost_pods_come_back_on_their_version_also_after_the_plugin_version_was_deleted() -> None:
    world = ticking("1.0.0", "2.0.0", version="1.0.0")
    world.server.remove(PLUGIN_VERSION, KEY.namespace, "ticker-1.0.0")
    world.settle()
    world.vanish(world.task(0).name)
    world.start_operator()
    world.settle()
    assert runs(world) == "1.0.0"
    world.change(tasksMax=2)  # planned anew, by a pod with the same image
    world.settle()
    assert runs(world) == "1.0.0"


def test_an_image_that_cannot_be_pulled_reaches_no_task() -> None:
    world = ticking("1.0.0", "2.0.0", version="1.0.0")
    lives = list(world.lives)
    world.unpullable = (image("2.0.0"),)
    world.change(version="2.0.0")
    world.settle(60.0)
    assert "ImagePullBackOff" in world.condition("Ready")
    assert image("2.0.0") in world.condition("Ready")
    assert world.lives == lives
    assert mounted(world, world.task(0).name) == [image("1.0.0")]
    world.change(version="1.0.0")
    world.settle()
    assert runs(world) == "1.0.0"
    assert world.lives == lives


def test_another_version_is_another_plan_and_all_tasks_follow() -> None:
    world = ticking("1.0.0", "2.0.0", version="1.0.0", tasksMax=2)
    world.change(version="2.0.0")
    world.settle()
    assert runs(world) == "2.0.0"
    assert len(world.lives) == 4


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"name": "copy", "image": image("9.9.9")},
            "version 1.0.0 of Ticker is in several PluginVersions that differ",
        ),
        ({"name": "other", "plugin": "acme"}, "Ticker is a class of several plugins, acme (other), penstock-ticker"),
    ],
)
def test_what_is_ambiguous_is_refused_by_name_and_the_tasks_continue(more: dict[str, Any], told: str) -> None:
    world = ticking("1.0.0")
    apply(world, "1.0.0", **more)
    world.settle()
    assert runs(world) == "1.0.0"
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert told in world.condition("Stalled")
    world.server.remove(PLUGIN_VERSION, KEY.namespace, more["name"])
    world.settle()
    assert runs(world) == "1.0.0"


def test_a_copy_under_another_name_is_no_ambiguity() -> None:
    world = ticking("1.0.0")
    apply(world, "1.0.0", name="ticker")
    world.annotations = {"penstock.dev/restart": "a"}
    world.settle()
    assert world.status["connector"]["pluginVersion"] == "ticker"


def test_a_range_that_cannot_be_read_needs_a_person() -> None:
    world = ticking("1.0.0", version="(1.0")
    assert world.condition("Stalled") == (
        "True ConfigInvalid: spec.version: Unbounded range: (1.0; available versions: [1.0.0] (default and "
        "recommended: 1.0.0)"
    )


def test_a_plugin_version_that_is_not_well_formed_offers_nothing() -> None:
    world = World(spec={"class": "FileStreamSource"})
    apply(world, "9.0.0", classes=[{"alias": "FileStreamSource", "type": "source"}])
    apply(world, "8.0.0", image="plugins.example/ticker:8.0.0")
    world.settle()
    assert "pluginVersion" not in world.status["connector"]
    world.change(**{"class": "Ticker"})
    world.settle()
    assert all(not r.mounts for r in world.requests.values())


def test_a_list_of_offsets_mounts_nothing_and_what_asks_the_plugin_does() -> None:
    world = ticking("1.0.0")
    world.annotations = {"penstock.dev/list-offsets": "a"}
    world.settle()
    world.change(state="Stopped")
    world.annotations = {"penstock.dev/list-offsets": "a", "penstock.dev/reset-offsets": "b"}
    world.settle()
    of = {r.action: r for r in world.requests.values()}
    assert of[Action.LIST_OFFSETS].mounts == ()
    assert [m.image for m in of[Action.OFFSETS].mounts] == [image("1.0.0")]


def test_a_plan_that_others_gave_another_image_is_not_taken() -> None:
    world = ticking("1.0.0")
    (plan,) = world.plans
    kept = config_map_of(plan, {"name": "x"})
    found = plan_of(kept)
    assert found is not None
    assert (found.hash, found.mounts, found.tasks) == (plan.hash, plan.mounts, plan.tasks)
    header = json.loads(kept["data"]["plan.json"])
    header["mounts"][0]["image"] = image("6.6.6")
    assert plan_of({**kept, "data": {**kept["data"], "plan.json": json.dumps(header)}}) is None
    del header["mounts"]
    assert plan_of({**kept, "data": {**kept["data"], "plan.json": json.dumps(header)}}) is None
    task = kept["data"]["task-0.json"].replace(image("1.0.0"), image("6.6.6"))
    assert plan_of({**kept, "data": {**kept["data"], "task-0.json": task}}) is None


@pytest.mark.parametrize("change", [{"version": "[1,)"}, {}], ids=["another range", "a restart"])
def test_a_class_that_is_offered_no_more_is_missing_and_never_taken_for_the_runtimes(change: dict[str, Any]) -> None:
    world = ticking("1.0.0")
    world.server.remove(PLUGIN_VERSION, KEY.namespace, "ticker-1.0.0")
    jobs = len(world.requests)
    world.change(**change)
    world.annotations = {} if change else {"penstock.dev/restart": "a"}
    world.settle()
    said = world.condition("Ready")
    assert said.startswith(
        "False PluginVersionMissing: spec.class: no PluginVersion of this namespace offers Ticker any longer"
    )
    assert world.condition("Stalled") == "False NotStalled: "
    assert len(world.requests) == jobs
    assert mounted(world, world.task(0).name) == [image("1.0.0")]
    world.change(state="Stopped")
    world.annotations = {**world.annotations, "penstock.dev/reset-offsets": "b"}
    world.settle()
    (reset,) = (r for r in world.requests.values() if r.action is Action.OFFSETS)
    assert [m.image for m in reset.mounts] == [image("1.0.0")]


def test_a_later_release_with_a_built_in_of_the_name_moves_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ticking("1.0.0")
    lives = list(world.lives)
    monkeypatch.setitem(plugin_names.BUILT_INS, "connector", {"Ticker": ()})
    world.start_operator()
    world.settle()
    assert runs(world) == "1.0.0"
    assert world.lives == lives


@pytest.mark.parametrize(("name", "is_refused"), [("penstock-plugin-0", True), ("plugin-1", False)])
def test_a_template_may_not_name_its_volumes_as_those_of_images(name: str, is_refused: bool) -> None:
    volumes = {"volumes": [{"name": name, "emptyDir": {}}]}
    world = ticking("1.0.0", template=volumes)
    assert ("is reserved for a volume of Penstock" in world.condition("Ready")) is is_refused


def test_an_empty_version_is_a_mistake_and_nothing_that_may_come() -> None:
    assert (
        ticking("1.0.0", version="")
        .condition("Stalled")
        .startswith("True ConfigInvalid: spec.version: Plugin Ticker not")
    )


def test_the_plugin_versions_are_not_read_for_connectors_that_run_or_are_built_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for world in (ticking("1.0.0"), World(spec={"class": "FileStreamSourceConnector"})):
        read: list[str] = []
        request = world.server.request

        def recorded(
            method: str, kind: Kind, *more: Any, of: Any = request, to: list[str] = read, **named: Any
        ) -> Answer:
            to.append(kind.kind)
            answer: Answer = of(method, kind, *more, **named)
            return answer

        monkeypatch.setattr(world.server, "request", recorded)
        world.start_operator()
        world.change(tasksMax=2)
        world.settle()
        assert world.condition("Ready").startswith("True")
        assert "Connector" in read
        assert "PluginVersion" not in read


def test_a_plugin_of_python_has_the_hash_that_it_had_before_there_were_plugins_of_java() -> None:
    """So the upgrade plans no Connector again for this, and restarts none."""
    names = DeclaredClass(alias="Trim", type="transform", java_names=("com.acme.Trim",))
    mount = PluginMount(
        name="acme-1.0.0",
        plugin="acme",
        version="1.0.0",
        image=f"r.example/acme@sha256:{'0' * 64}",
        folder="/etc/penstock/plugins/0/plugin",
        classes=(names,),
        places=("connector", "transforms.t"),
    )
    assert plan_hash("inputs", PodSettings("runtime:2"), None, (mount,)) == "8c127d369631e2dd"


def test_a_new_connector_passes_over_a_newer_version_whose_image_cannot_be_pulled_and_says_so() -> None:
    world = ticking("1.0.0", "2.0.0", state="Stopped")
    apply(world, "3.0.0", status=unverified("ErrImagePull", "no such image"))
    world.change(state="Running")
    world.settle()
    assert runs(world) == "2.0.0"
    assert world.condition("ConfigValid") == (
        "True Valid: PluginVersion ticker-3.0.0 has the newer version 3.0.0, but is not used until it is verified: "
        "ImagePullBackOff"
    )
    assert "newerPluginVersions" not in world.status


def test_a_version_that_failed_its_verification_is_passed_over_with_the_cause_and_a_restart_keeps_to_that() -> None:
    world = ticking("1.0.0")
    apply(world, "2.0.0", status=unverified("VerificationFailed", "No module named 'x'", is_final=True))
    world.annotations = {"penstock.dev/restart": "now"}
    world.settle()
    assert runs(world) == "1.0.0"
    assert world.condition("ConfigValid").endswith("until it is verified: No module named 'x'")


def test_a_version_that_was_passed_over_is_offered_once_it_is_verified() -> None:
    world = ticking("1.0.0")
    apply(world, "2.0.0", status=unverified())
    world.settle()
    assert "no pod has inspected its image yet" in world.condition("ConfigValid")
    set_status(world, "2.0.0", VERIFIED)
    world.settle()
    assert (runs(world), world.status["newerPluginVersions"]) == ("1.0.0", ["ticker-2.0.0"])
    assert "is newer" not in world.condition("ConfigValid")


@pytest.mark.parametrize("version", [None, "latest", "[1,3)"])
def test_a_connector_waits_for_the_verification_where_no_version_is_verified_and_then_starts(
    version: str | None,
) -> None:
    world = ticking(version=version)
    apply(world, "2.0.0", status=unverified("ErrImagePull", "no such image"))
    world.change(config={"a": "b"})
    world.settle()
    assert world.lives == []
    assert world.condition("Ready") == (
        "False PluginVersionMissing: spec.class: cannot use PluginVersion ticker-2.0.0, which offers Ticker: it is not "
        "verified, since its image cannot be pulled: ImagePullBackOff (`kubectl describe pluginversion ticker-2.0.0` shows "
        "more); correct its image, or name the pull Secret in images.pullSecrets of the release or in the namespace's "
        "default ServiceAccount, since the verifying pod does not use spec.template"
    )
    assert world.condition("Stalled") == "False NotStalled: "
    set_status(world, "2.0.0", VERIFIED)
    world.settle()
    assert runs(world) == "2.0.0"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, "not verified yet, since no pod has inspected its image yet (`kubectl"),
        (
            unverified("VerificationFailed", "No module named 'x'.", is_final=True),
            "not verified: No module named 'x' (`",
        ),
        (unverified("Unschedulable", "no node"), "not verified: Unschedulable (`kubectl"),
    ],
    ids=["not inspected", "failed", "unschedulable"],
)
def test_a_version_that_waits_for_its_verification_is_named_with_the_cause_and_a_remedy(
    status: dict[str, Any], text: str
) -> None:
    world = ticking("1.0.0", state="Stopped", version="[2,)")
    apply(world, "2.0.0", status=status)
    world.change(state="Running")
    world.settle()
    remedy = (
        "the connector starts once it is" if not status else "correct the cause, or set spec.version: 2.0.0 to use it"
    )
    assert f"which offers Ticker: it is {text}" in world.condition("Ready")
    assert f"shows more); {remedy}" in world.condition("Ready")
    assert "verified, but not in the requested range: available versions: [1.0.0]" in world.condition("Ready")


def test_a_range_that_an_unverified_version_does_not_fit_names_it_as_not_verified() -> None:
    world = ticking(version="[1,2)")
    apply(world, "2.0.0", status=unverified())
    world.change(config={"a": "b"})
    world.settle()
    assert world.condition("Ready") == (
        "False PluginVersionMissing: spec.version: Plugin Ticker not found that matches the version range [1,2), "
        "available versions: []; not verified: [2.0.0]"
    )


@pytest.mark.parametrize("version", ["3.0.0", "[3.0]"])
def test_the_very_version_that_is_asked_for_is_taken_before_it_is_verified(version: str) -> None:
    world = ticking("1.0.0", state="Stopped", version=version)
    apply(world, "3.0.0", status=unverified())
    world.change(state="Running")
    world.settle()
    assert runs(world) == "3.0.0"


def test_a_duplicate_that_is_not_verified_makes_nothing_ambiguous() -> None:
    world = ticking("1.0.0", state="Stopped")
    apply(world, "1.0.0", name="copy", image=image("9.9.9"), status=unverified())
    apply(world, "1.0.0", name="other", plugin="penstock-other", status=unverified())
    world.change(state="Running")
    world.settle()
    assert runs(world) == "1.0.0"
