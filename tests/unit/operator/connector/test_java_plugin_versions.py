"""A Connector whose class is one of Java, from the image of a PluginVersion: it waits for a look into the image, once."""

from typing import Any

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION

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
        "status": status,
    }


def looked(world: World, **status: Any) -> None:
    """A pod has looked into the image."""
    world.server.edit(PLUGIN_VERSION, KEY.namespace, "acme", lambda document: document.update(status=status))
    world.settle()


def connector(*documents: dict[str, Any], **spec: Any) -> World:
    """A Connector; its plan pods answer with the version that they mount, or that the class is not there."""

    def plugin(_: Any) -> JobAnswer | list[str]:
        request = [r for r in world.requests.values() if r.action is Action.PLAN][-1]
        if not request.mounts:
            return invalid(JobProblem(property="spec.class", message=f"Class {CLOCK} could not be found."))
        answer = tasks_of(1, **request.connector["spec"]["config"])
        answer = answer.model_copy(update={"version": request.mounts[0].version, "class_name": "ClockConnector"})
        return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer)

    world = World(spec={"class": CLOCK, "tasksMax": 1, **spec}, plugin=plugin)
    for document in documents:
        world.server.add(document)
    world.settle()
    return world


def test_it_waits_while_a_pod_looks_which_classes_there_are_and_runs_once_they_are_known() -> None:
    world = connector(java())
    assert world.condition("Ready").startswith(
        f"False PluginVersionMissing: spec.class: waits for a pod to look whether the Java plugins of acme have {CLOCK}"
    )
    assert world.condition("Stalled") == "absent"
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
    (plan,) = (p for p in world.plans if p.hash == world.status["plan"]["hash"])
    assert {m.folder for m in plan.mounts} == {"/etc/penstock/plugins/0/kafka/connect/clock"}

    looked(world, verifiedBy="runtime:2", classes=[{**c, "version": "2.0"} for c in CLASSES])
    assert world.status["connector"]["version"] == "1.0"
