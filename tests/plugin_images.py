"""What the image of a PluginVersion holds, as a folder: distributions as `pip install --target` writes them."""

from collections.abc import Mapping
from pathlib import Path

from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount

__all__ = ["add_distribution", "mount"]


def add_distribution(
    folder: Path,
    name: str,
    version: str,
    modules: Mapping[str, str | bytes],
    entry_points: Mapping[str, str] | None = None,
) -> None:
    """Write a distribution: `modules` are files by path, `entry_points` of plugins by alias."""
    for path, text in modules.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if entry_points:
        lines = "".join(f"{alias} = {path}\n" for alias, path in entry_points.items())
        (info / "entry_points.txt").write_text(f"[penstock.plugins]\n{lines}")


def mount(folder: Path, plugin: str, version: str, *classes: DeclaredClass) -> PluginMount:
    """The folder as the mount of a pod."""
    return PluginMount(
        name=f"{plugin}-{version}",
        plugin=plugin,
        version=version,
        image=f"plugins.example/x@sha256:{'0' * 64}",
        folder=str(folder),
        classes=classes,
    )
