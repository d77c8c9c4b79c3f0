"""Java versions that fail, and an image that is deleted: what runs carries on, and the status names the cause."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_cli.__main__ import main

from ..integration.java.probe_plugin import SOURCE, Probe, probe
from .place import Connector, Place, condition, task
from .test_canaries import change, run, versions
from .test_java_plugins import TEXTS, java, says

__all__ = ["Probe", "probe"]

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(600)]  # images are loaded into its node
SLOWLY = {"batch": 10, "pause": 100}


def publish(place: Place, folder: Path, name: str, *jars: Path) -> tuple[str, Path]:
    """Load an image of these plugins, and create its PluginVersion; the image and its archive."""
    out = folder / f"image-{name}"
    options = ("--image", f"plugins.example/{name}", "--out", str(out))
    assert main(["plugin", "build", *map(str, jars), *options]) == 0
    archive = out / f"{name}.tar"
    place.cluster.component("load", str(archive))
    document: dict[str, Any] = yaml.safe_load((out / "pluginversion.yaml").read_text())
    place.apply(java(name, document))
    says(place, name, "Verified", "status.classes lists them")
    return str(document["spec"]["image"]), archive


def assert_each_once(place: Place, connector: Connector, tasks: int) -> None:
    """The numbers of each task are in Kafka in order, without a gap."""
    values = [(r.value or b"").decode() for r in place.kafka.records(connector.topic)]
    for number in range(tasks):
        mine = [int(value.partition(":")[2]) for value in values if value.startswith(f"{number}:")]
        assert mine == list(range(len(mine)))
        assert mine


def test_a_java_version_that_cannot_be_planned_reaches_no_task_and_one_that_does_not_start_reaches_one_of_three(
    place: Place, probe: Probe, tmp_path: Path
) -> None:
    good = [probe.jar(tmp_path / f"good-{version}.jar", version) for version in ("1.0.0", "2.0.1")]
    publish(place, tmp_path, "good", *good)
    unplannable = probe.without(tmp_path / "without", "Actions").jar(tmp_path / "bad-3.0.0.jar", "3.0.0")
    unstartable = probe.for_java_99(tmp_path / "newer", "ProbeTask").jar(tmp_path / "bad-2.0.0.jar", "2.0.0")
    publish(place, tmp_path, "bad", unplannable, unstartable)
    config = {"topic": f"{place.namespace}.probe", "tasks": 3, **SLOWLY, **TEXTS}
    rollout = {"canaryTasks": 1, "canaryDuration": "10s"}
    source = place.connector("probe", SOURCE, config, tasksMax=3, version="1.0.0", rollout=rollout)
    run(source, *["1.0.0"] * 3, limit=240)
    lives = source.lives()

    change(source, "3.0.0")
    source.says(
        "ConfigInvalid",
        "NoClassDefFoundError: dev/penstock/probe/Actions",
        "keep the last good configuration",
        limit=180,
    )
    assert source.lives() == lives
    assert versions(source) == ["1.0.0"] * 3

    others = {name: uid for name, uid in lives.items() if not name.startswith("probe-0-")}
    change(source, "2.0.0")

    def failed(found: Any) -> str | None:
        pending = condition(found, "UpdatePending")
        return str(pending["message"]) if pending.get("reason") == "CanaryFailed" else None

    message = source.until(failed, "the canary has failed", limit=180)
    assert "the other 2 stay as before" in message
    assert "compiled for Java 99, and the runtime has Java 17; use a version of the plugin for Java 17" in message
    assert versions(source) == ["2.0.0", "1.0.0", "1.0.0"]
    assert others.items() <= source.lives().items()

    change(source, "1.0.0")
    run(source, *["1.0.0"] * 3, limit=240)
    assert others.items() <= source.lives().items()
    change(source, "2.0.1")
    run(source, *["2.0.1"] * 3, limit=240)
    source.apply(version="2.0.1", state="Stopped")
    source.reaches("Stopped")
    assert_each_once(place, source, 3)


def test_an_image_that_is_deleted_leaves_a_running_java_task_untouched_and_its_successor_names_it(
    place: Place, probe: Probe, tmp_path: Path
) -> None:
    image, archive = publish(place, tmp_path, "deleted", probe.jar(tmp_path / "probe.jar"))
    source = place.connector("probe", SOURCE, {"topic": f"{place.namespace}.probe", **SLOWLY, **TEXTS})
    source.reaches("Running", 240)
    lives = source.lives()

    digest = image.partition("@")[2]
    listed = place.cluster.on_node("ctr", "--namespace", "k8s.io", "images", "list").splitlines()
    names = [line.split()[0] for line in listed if digest in line or "plugins.example/deleted" in line]
    assert names, listed
    place.cluster.on_node("ctr", "--namespace", "k8s.io", "images", "remove", "--sync", *names)

    there = len(place.kafka.records(source.topic))
    place.kafka.records(source.topic, least=there + 100)
    assert (source.lives(), task(source.get())["state"]) == (lives, "Running")

    source.kubectl("delete", "pod", source.pod())
    cause = source.until(
        lambda c: m if image in (m := str(condition(c).get("message"))) else None, "it names the image", 120
    )
    assert "pull" in cause.lower()
    place.cluster.component("load", str(archive))
    source.reaches("Running", 240)
    assert task(source.get())["incarnation"] == 2
    place.kafka.records(source.topic, least=there + 300)
    assert_each_once(place, source, 1)
