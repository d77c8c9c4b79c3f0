"""What the image of a PluginVersion holds, as a folder: distributions as `pip install --target` writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount

__all__ = ["add_distribution", "mount"]


def add_distribution(
    folder: Path,
    name: str,
    version: str,
    modules: Mapping[str, str | bytes],
    entry_points: Mapping[str, str] | None = None,
    *,
    metadata: Sequence[str] = (),
    tag: str | None = None,
) -> None:
    """Write a distribution.

    Args:
        folder: folder of the image.
        name, version: of the distribution.
        modules: files by path.
        entry_points: of plugins, by alias.
        metadata: more lines, such as `Requires-Dist: x`.
        tag: what Python and machine it is built for.
    """
    for path, text in modules.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata]
    (info / "METADATA").write_text("".join(f"{line}\n" for line in lines))
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in modules))
    if tag is not None:
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag}\n")
    if entry_points:
        lines = [f"{alias} = {path}" for alias, path in entry_points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[penstock.plugins]", *lines, ""]))


def mount(
    folder: Path, plugin: str, version: str, *classes: DeclaredClass, places: Sequence[str] = ("connector",)
) -> PluginMount:
    """The folder as the mount of a pod, for these places."""
    return PluginMount(
        name=f"{plugin}-{version}",
        plugin=plugin,
        version=version,
        image=f"plugins.example/x@sha256:{'0' * 64}",
        folder=str(folder),
        classes=classes,
        places=tuple(places),
    )
