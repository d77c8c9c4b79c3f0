"""A Connector whose class is one of Java, from the image of a PluginVersion: it waits for a look into the image, once."""

from typing import Any

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_model.contracts.task_spec import PluginReference
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION

from .test_plugin_versions import VERIFIED
from .world.cluster import KEY
from .world.plugins import invalid, tasks_of
from .world.world import World

CLOCK, LATE = "com.acme.ClockConnector", "com.acme.Late"
IMAGE = f"quay.example/connect@sha256:{'0' * 64}"
CLASSES = [
    {"class": CLOCK, "type": "source", "version": "1.0", "paths": ["clock"]},
    {"class": LATE, "type": "transform", "version": "1.0", "paths": ["clock", "other"]},
]


def java(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": PLUGIN_VERSION.api_version,
        "kind": PLUGIN_VERSION.kind,
        "metadata": {"name": "acme", "namespace": KEY.namespace},
        "spec": {"runtime": "Java", "image": IMAGE, "path": "/kafka/connect"},
        "status": {**VERIFIED, **status} if status else {},
    }


def looked(world: World, **status: Any) -> None:
    """A pod has looked into the image."""
    world.server.edit(PLUGIN_VERSION, KEY.namespace, "acme", lambda d: d.update(status={**VERIFIED, **status}))
    world.settle()


def connector(*documents: dict[str, Any], **spec: Any) -> World:
    """A Connector; its plan pods answer with the version that they mount, or that the class is not there."""

    def plugin(_: Any) -> JobAnswer | list[str]:
        request = [r for r in world.requests.values() if r.action is Action.PLAN][-1]
        if not request.mounts:
            return invalid(JobProblem(property="spec.class", message=f"Class {CLOCK} could not be found."))
        version, count = request.mounts[0].version, world.document["spec"]["tasksMax"]
        answer = tasks_of(count, **request.connector["spec"]["config"])
        runs = PluginReference(reference="x:Y", alias="ClockConnector", version=version)
        tasks = tuple(t.model_copy(update={"plugins": {"connector": runs}}) for t in answer.tasks)
        answer = answer.model_copy(update={"version": version, "class_name": "ClockConnector", "tasks": tasks})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer)

    world = World(spec={"class": CLOCK, "tasksMax": 1, **spec}, plugin=plugin)
    for document in documents:
        world.server.add(document)
    world.settle()
    return world


def test_it_waits_while_a_pod_looks_which_classes_there_are_and_runs_once_they_are_known() -> None:
    world = connector(java())
    assert world.condition("Ready").startswith(
        "False PluginVersionMissing: spec.class: waiting for a pod to check whether the Java plugins of acme contain "
        f"{CLOCK}"
    )
    assert world.condition("Stalled") == "False NotStalled: "
    assert not world.requests
    looked(world, verifiedBy="runtime:1", classes=CLASSES)
    assert world.condition("Ready").startswith("True")
    plugin = world.status["connector"]
    assert (plugin["version"], plugin["pluginVersion"]) == ("1.0", "acme")


def test_a_class_that_none_of_the_images_holds_is_looked_for_in_the_runtimes() -> None:
    world = connector(java(verifiedBy="runtime:1", classes=CLASSES[1:]))
    assert f"no PluginVersion of this namespace offers {CLOCK}" in world.condition("Ready")


def test_a_pod_mounts_the_image_once_for_all_classes_of_one_folder_and_tasks_keep_it() -> None:
    config = {"transforms": "late", "transforms.late.type": LATE}
    world = connector(java(verifiedBy="runtime:1", classes=CLASSES), config=config)
    assert world.condition("Ready").startswith("True")
    (task,) = world.status["tasks"]
    spec = world.manifest(task["pod"])["spec"]
    assert [v["image"]["reference"] for v in spec["volumes"] if "image" in v] == [IMAGE]
    assert world.status["pluginVersions"] == ["acme"]
    (plan,) = (p for p in world.plans if p.hash == world.status["operatorState"]["plan"]["hash"])
    assert {m.folder for m in plan.mounts} == {"/etc/penstock/plugins/0/kafka/connect/clock"}

    looked(world, verifiedBy="runtime:2", classes=[{**c, "version": "2.0"} for c in CLASSES])
    assert world.status["connector"]["version"] == "1.0"


def test_another_version_from_the_same_image_reaches_the_first_tasks_first() -> None:
    both = [{**CLASSES[0], "version": v, "paths": [f"clock-{v}"]} for v in ("1.0", "2.0")]
    world = connector(java(verifiedBy="runtime:1", classes=both), tasksMax=2, version="1.0")
    world.change(version="2.0")
    world.settle(20.0)
    assert [t["versions"]["connector"] for t in world.status["tasks"]] == ["2.0", "1.0"]
    assert world.condition("UpdatePending").startswith(
        f"True CanaryRunning: task 0 runs {CLOCK} 2.0 of acme; the other"
    )
