"""Mount the images of PluginVersions in a pod, as image volumes or as copies made by init containers. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.pod_layout import PLUGINS_DIR

__all__ = ["PluginVolumes", "plugin_volumes"]

_NAME: Final = "penstock-plugin"
_COPIER: Final = f"{_NAME}-copier"
_TOOLS: Final = "/penstock-copier"
_TARGET: Final = "/penstock-plugin"
_PROGRAM: Final = f"{_TOOLS}/busybox"
_COPY: Final = """\
if [ "$1" = / ]; then
  echo "spec.path of the PluginVersion is /: a whole image is not copied; give it the folder with the package" >&2
  exit 1
fi
if [ -d "$1" ]; then
  "$0" mkdir -p "$2" && "$0" cp -R "$1/." "$2"
elif [ -e "$1" ]; then
  "$0" mkdir -p "${2%/*}" && "$0" cp "$1" "$2"
fi
"""
"""Script that copies: $0 is the program, $1 the folder or jar in the image, $2 its copy. It ignores a missing folder or
jar, which the process that needs it reports.
"""


class PluginVolumes(NamedTuple):
    """Parts of a pod's spec that mount the images.

    Attributes:
        volumes: volumes of the pod.
        places: their read-only mounts in the main container.
        init_containers: init containers that fill the volumes.
    """

    volumes: list[dict[str, Any]]
    places: list[dict[str, Any]]
    init_containers: list[dict[str, Any]]


def plugin_volumes(
    mounts: Sequence[PluginMount],
    how: Literal["ImageVolume", "InitContainer"],
    runtime: Mapping[str, Any],
    size: str,
) -> PluginVolumes:
    """Return the parts of a pod's spec that mount these images.

    Args:
        mounts: the images. Several mounts of one folder are mounted once.
        how: `plugins.mount` of the release.
        runtime: fields of an init container with the runtime image; all init containers have its permissions and resources.
        size: size limit of a copy; empty: none.
    """
    numbers = {_number(mount): mount for mount in reversed(mounts)}
    named = [(f"{_NAME}-{n}", f"{PLUGINS_DIR}/{n}", mount) for n, mount in sorted(numbers.items())]
    places = [{"name": name, "mountPath": folder, "readOnly": True} for name, folder, _ in named]
    if how == "ImageVolume":
        return PluginVolumes([_image_volume(name, mount) for name, _, mount in named], places, [])
    names = [_COPIER, *(name for name, _, _ in named)] if named else []
    volumes = [{"name": name, "emptyDir": {"sizeLimit": size} if size else {}} for name in names]
    copies = [_copy(name, folder, mount, runtime) for name, folder, mount in named]
    return PluginVolumes(volumes, places, [_copier(runtime), *copies] if named else [])


def _number(mount: PluginMount) -> int:
    return int(mount.folder.removeprefix(f"{PLUGINS_DIR}/").partition("/")[0])


def _image_volume(name: str, mount: PluginMount) -> dict[str, Any]:
    """Return an image volume with the whole image: a `subPath` in it would need a newer Kubernetes version.

    A digest always means the same image, so a node that has it need not pull it.
    """
    return {"name": name, "image": {"reference": mount.image, "pullPolicy": "IfNotPresent"}}


def _copier(runtime: Mapping[str, Any]) -> dict[str, Any]:
    """Return an init container that provides a copy program, which is statically linked, so that it runs in any image."""
    tools = {"name": _COPIER, "mountPath": _TOOLS}
    return {**runtime, "name": _COPIER, "command": ["cp", "/bin/busybox", _PROGRAM], "volumeMounts": [tools]}


def _copy(name: str, folder: str, mount: PluginMount, runtime: Mapping[str, Any]) -> dict[str, Any]:
    path = mount.folder.removeprefix(folder) or "/"
    return {
        **runtime,
        "name": name,
        "image": mount.image,
        "imagePullPolicy": "IfNotPresent",
        "command": [_PROGRAM, "sh", "-c", _COPY, _PROGRAM, path, f"{_TARGET}{path}"],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": _COPIER, "mountPath": _TOOLS, "readOnly": True},
            {"name": name, "mountPath": _TARGET},
        ],
    }
