"""Image of published Kafka Connect plugins, and its PluginVersion."""

import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.archive import check_repository, write_image
from penstock_cli.plugin.declaration import manifest, resource_name
from penstock_cli.plugin.runtime_image import JAVA
from penstock_model.contracts.verification import LONGEST_CLASSES, FoundClass, classes_text
from penstock_model.resources.plugin_offers import offer_of
from penstock_runtime.java_plugins.locations import plugins_of
from penstock_runtime.unpacking import ENDINGS, unpack
from penstock_runtime.verify.java_classes import Listing, classes_for

__all__ = ["BuiltOfJava", "build_of_java"]

_BASE: Final = "plugins"
"""Folder of the plugins in the image."""
_ARCHITECTURE: Final = "amd64"
"""Default architecture, the same on every machine, so that the digest is the same. Nodes of other architectures can mount
the image, because nothing in it runs."""


@dataclass(frozen=True)
class BuiltOfJava:
    """Result of a build.

    Attributes:
        classes: classes in the image, with the names of its plugins as paths.
        warnings: classes that cannot be loaded, and why.
        image: its name by digest.
        archive: the image, as an OCI archive.
        manifest: the PluginVersion.
    """

    classes: Sequence[FoundClass]
    warnings: Sequence[str]
    image: str
    archive: Path
    manifest: Path


def build_of_java(
    sources: Sequence[Path], repository: str, folder: Path, *, architecture: str | None = None
) -> BuiltOfJava:
    """Write an image of Java plugins, and its PluginVersion.

    Each plugin is a folder or a jar below `/plugins`, with the name that it has in its archive; a jar of `sources` gets a
    folder. The image depends only on names, contents and execute bits, so the same archives give the same digest on every
    machine. No code of the plugins runs except to list their classes: Kafka Connect's scanner, in a JVM.

    Args:
        sources: archives (`.zip`, `.tar.gz`), jars, folders with jars, and folders of such folders.
        repository: the image's name, with its registry and without a tag: `plugins.example/debezium`.
        folder: folder for `<last part of the repository>.tar` and `pluginversion.yaml`; it is created.
        architecture: architecture of the image, in Go's terms; None: the same on every machine.

    Raises:
        ConfigError: an archive cannot be used, or a pod would reject the plugins.
        ConnectError: Java cannot be run, or the JVM exits.
        OSError: a file cannot be read or written.
    """
    check_repository(repository)
    name = repository.rpartition("/")[2]
    archive, written = folder / f"{name}.tar", folder / "pluginversion.yaml"
    with tempfile.TemporaryDirectory(prefix="penstock-plugin-") as scratch:
        content = Path(scratch, _BASE)
        content.mkdir()
        _gather(sources, Path(scratch), content)
        listing = _listed(content)
        folder.mkdir(parents=True, exist_ok=True)
        image = write_image(content, repository, archive, base=_BASE, architecture=architecture or _ARCHITECTURE)
    declared = _declaration(name, image, listing.classes)
    written.write_text(manifest(declared), encoding="utf-8")
    return BuiltOfJava(listing.classes, listing.warnings, image, archive, written)


def _gather(sources: Sequence[Path], scratch: Path, content: Path) -> None:
    """Gather all plugins in one folder."""
    came_from: dict[str, Path] = {}
    for number, source in enumerate(sources):
        unpacked = scratch / f"unpacked-{number}"
        for name, plugin in _plugins(source, unpacked).items():
            if name in came_from:
                raise ConfigError(_twice(name, came_from[name], source))
            came_from[name] = source
            if plugin.is_relative_to(unpacked):
                plugin.rename(content / name)
            else:
                _copy(plugin, content / name)


def _plugins(source: Path, unpacked: Path) -> Mapping[str, Path]:
    """Return the plugins of an archive, a jar or a folder, by the names that they get in the image."""
    ending = next((e for e in (*ENDINGS, ".jar") if source.name.endswith(e)), None)
    if source.is_file() and ending == ".jar":
        # Several jars side by side would be one plugin.
        name = _safe(source.name.removesuffix(ending))
        (unpacked / name).mkdir(parents=True)
        shutil.copy(source, unpacked / name / _safe(source.name))
        return {name: unpacked / name}
    if source.is_file() and ending is not None:
        unpack(source, unpacked)
        folder, name = unpacked, source.name.removesuffix(ending)
    elif source.is_dir():
        folder, name = source, source.resolve().name
    else:
        kind = "is not a folder, a jar or an archive (.zip, .tar.gz)" if source.exists() else "does not exist"
        raise ConfigError(f"cannot make an image of {source}: it {kind}")
    found: dict[str, Path] = {}
    for plugin in plugins_of(folder):
        chosen = _safe(name if plugin == folder else plugin.name)
        if not plugin.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(_outside(source, plugin))
        if chosen in found:
            raise ConfigError(_twice(chosen, source, source))
        found[chosen] = plugin
    if not found:
        other = "" if folder == unpacked else ", and it has no pyproject.toml"
        remedy = "pass the plugin's archive, or the folder that it was unpacked to"
        raise ConfigError(f"cannot make an image of {source}: no file in it is a jar{other}; {remedy}")
    return found


def _twice(name: str, one: Path, other: Path) -> str:
    if one.exists() and one.samefile(other):
        return f"cannot make an image of {one}: it would contain the plugin {name} twice; pass each archive once"
    return (
        f"cannot make one image of {one} and {other}: both contain a plugin {name}; build an image of each, with a "
        "PluginVersion for each"
    )


def _outside(source: Path, link: Path) -> str:
    return (
        f"cannot make an image of {source}: {link} is a link to {link.readlink()}, which is not a file in it; replace the "
        "link with a copy"
    )


def _safe(name: str) -> str:
    """Convert a name to one that is valid in paths in a pod."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", name)


def _copy(plugin: Path, to: Path) -> None:
    """Copy the jar or the folder of a plugin, as if it came from an archive: without links.

    Raises:
        ConfigError: it has a link that does not lead to a file in it, or an entry that is neither a file nor a folder.
    """
    root = plugin.resolve()
    if root.is_file():
        shutil.copy(root, to)
        return
    to.mkdir()
    for path, target in ((p, to / p.relative_to(root)) for p in _below(root)):
        mode, leads_to = path.lstat().st_mode, path.resolve()
        if path.is_symlink() and not (leads_to.is_file() and leads_to.is_relative_to(root)):
            raise ConfigError(_outside(plugin, path))
        if stat.S_ISDIR(mode):
            target.mkdir()
        elif leads_to.is_file():
            shutil.copy(leads_to, target)
        else:
            raise ConfigError(f"cannot make an image of {plugin}: {path} is neither a file nor a folder; remove it")


def _below(folder: Path) -> Iterator[Path]:
    """Yield all paths in a folder, each folder before its contents."""
    for path in folder.iterdir():
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _listed(content: Path) -> Listing:
    """Return the classes that a pod will find.

    Raises:
        ConfigError: the pod would reject them.
    """
    listing = classes_for(content, f"/{_BASE}", JAVA)
    if not listing.classes:
        none = (
            "cannot find a plugin in the jars: no class in them is a connector, transform, predicate or converter of Kafka "
            "Connect that Penstock does not have itself; check that it is the plugin's own archive"
        )
        raise ConfigError(Problem("", text) for text in listing.warnings or (none,))
    if len(classes_text(listing.classes)) > LONGEST_CLASSES:
        raise ConfigError(
            f"cannot make one image of {len(listing.classes)} classes of plugins: they are more than the status of a "
            "PluginVersion can list; build an image of each plugin"
        )
    return listing


def _declaration(name: str, image: str, classes: Sequence[FoundClass]) -> dict[str, Any]:
    """Return the PluginVersion, named after the version of its connectors if they share one, otherwise after its digest."""
    of_connectors = {c.version for c in classes if c.type in ("source", "sink")}
    versions = (of_connectors or {c.version for c in classes}) - {"undefined"}
    version = versions.pop() if len(versions) == 1 else image.rpartition(":")[2][:12]
    document = {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": resource_name(f"{name}-{version}")},
        "spec": {"runtime": "Java", "image": image, "path": f"/{_BASE}"},
    }
    offer_of(document)
    return document
