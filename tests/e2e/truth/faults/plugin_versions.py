"""Faults of PluginVersions and their images."""

from pathlib import Path
from typing import Any, Final

from penstock_cli.plugin.archive import write_image

from ....plugin_images import add_distribution
from ...place import Connector
from ..fault import Fault, Says, Scene, Steps, World

__all__ = ["FAULTS"]

_TICKS: Final = """
from penstock_plugins.connectors.datagen.source import Datagen


class Ticks(Datagen):
    def task_configs(self, config, properties, max_tasks):
        return super().task_configs(config, properties, max_tasks)

    def source(self, config):
        {start}
        return super().source(config)
"""
_STARTS: Final = {
    "1.0.0": "pass",
    "9.0.0": "pass",
    "2.0.0": 'raise RuntimeError("2.x is bad")',
}
_ABSENT: Final = f"plugins.example/ticks@sha256:{'0' * 64}"


def _images(world: World) -> dict[str, str]:
    """The images on the node, by version; 3.0.0 cannot be imported."""
    with world.lock:
        if "ticks" not in world.made:
            archives, found = [], {}
            texts = {v: _TICKS.format(start=start) for v, start in _STARTS.items()} | {"3.0.0": "import acme_absent"}
            for version, text in texts.items():
                folder: Path = world.folder / f"ticks-{version}"
                add_distribution(folder, "acme-ticks", version, {"acme_ticks.py": text}, {"Ticks": "acme_ticks:Ticks"})
                archives.append(world.folder / f"ticks-{version}.tar")
                found[version] = write_image(folder, "plugins.example/ticks", archives[-1])
            world.cluster.component("load", *map(str, archives))
            world.made["ticks"] = found
        made: dict[str, str] = world.made["ticks"]
        return made


def _published(version: str, image: str = "", of: str = "") -> Steps:
    """Publish a version, of its own image, or of another one."""

    def made(scene: Scene) -> None:
        spec = {
            "plugin": "acme-ticks",
            "version": version,
            "image": image or _images(scene.world)[of or version],
            "classes": [{"alias": "Ticks", "type": "source"}],
        }
        kind = {"apiVersion": "penstock.dev/v1alpha1", "kind": "PluginVersion"}
        scene.place.apply({**kind, "metadata": {"name": f"ticks-{version}"}, "spec": spec})

    return made


def _ticks(*published: Steps, **spec: Any) -> Any:
    def made(scene: Scene) -> Connector:
        for step in published:
            step(scene)
        config = {"topic": f"{scene.place.namespace}.ticks", "rate": 20, "partitions": 2}
        return scene.place.unapplied("ticks", "Ticks", config, **spec)

    return made


def _change(**spec: Any) -> Steps:
    return lambda scene: scene.connector.apply(**spec)


FAULTS: Final = (
    Fault(
        "a version that does not exist",
        "`spec.version` requests a version that no PluginVersion has",
        Says("PluginVersionMissing", ("1.0.0",)),
        "publish it, or request another one",
        _ticks(_published("1.0.0"), version="9.0.0"),
        remove=_published("9.0.0"),
        needs_user=True,
        is_quick=True,
    ),
    Fault(
        "the image of a version is missing",
        "`spec.image` of the pinned PluginVersion is in no registry",
        Says("ErrImagePull|ImagePullBackOff|RegistryUnavailable", (_ABSENT,)),
        "push the image, or publish another version",
        _ticks(_published("1.0.0"), _published("3.1.0", _ABSENT), version="3.1.0"),
        remove=_change(version="1.0.0"),
        needs_user=True,
        bears=30,
    ),
    Fault(
        "a version that was never verified",
        "a newer version of an unpinned connector has an image that cannot be pulled",
        Says("Valid", ("ticks-3.1.0",), kind="ConfigValid", status="True"),
        "push the image, or delete the PluginVersion; until then, connectors use the newest verified version",
        _ticks(_published("1.0.0"), _published("3.1.0", _ABSENT)),
        remove=lambda scene: scene.connector.kubectl("delete", "pluginversion", "ticks-3.1.0"),
        halts=False,
    ),
    Fault(
        "an image that holds another version",
        "a PluginVersion declares another version than its image holds",
        Says("VerificationFailed", ("declares acme-ticks 4.0.0",), plural="pluginversions", name="ticks-4.0.0"),
        "delete the PluginVersion, and publish a correct one",
        _ticks(_published("1.0.0"), version="1.0.0"),
        _published("4.0.0", of="1.0.0"),
        halts=False,
    ),
    Fault(
        "a version that cannot be imported",
        "a class of the image imports a module that is not installed",
        Says("VerificationFailed", ("acme_absent",), plural="pluginversions", name="ticks-3.0.0"),
        "publish a corrected version",
        _ticks(_published("1.0.0"), version="1.0.0"),
        _published("3.0.0"),
        halts=False,
    ),
    Fault(
        "a version that fails",
        "the first task that runs a new version fails",
        Says("CanaryFailed", ("2.x is bad",), kind="UpdatePending", status="True"),
        "set the previous version again, or publish a corrected one; the other tasks keep the previous version",
        _ticks(
            _published("1.0.0"),
            _published("2.0.0"),
            version="1.0.0",
            tasksMax=2,
            rollout={"canaryTasks": 1, "canaryDuration": "30s"},
        ),
        _change(version="2.0.0"),
        _change(version="1.0.0"),
        needs_user=True,
        halts=False,
    ),
)
