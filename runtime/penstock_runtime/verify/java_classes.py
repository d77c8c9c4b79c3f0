"""Looks which classes of Kafka Connect's plugins are in the jars of a PluginVersion's image, in a JVM."""

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

from penstock import ConfigError, ConnectError, Problem
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount, PluginType
from penstock_model.contracts.pod_layout import PLUGINS_DIR
from penstock_model.contracts.verification import FoundClass
from penstock_model.resources.plugin_offers import KINDS
from penstock_runtime.class_files import java_of_class, newer_class
from penstock_runtime.java import find_java
from penstock_runtime.java_plugins.catalog import JavaPlugin, find_class, plugins_in
from penstock_runtime.java_plugins.locations import jars_of, plugin_locations
from penstock_runtime.plan.mounted_images import path_in_image

__all__ = ["Listing", "classes_for", "list_classes"]

_TYPES: Final[Mapping[str, PluginType]] = {word.lower(): word for word in get_args(PluginType)}
"""The words of a PluginVersion, by those of the catalog, which has config providers too: these are no part of tasks."""
_SERVICES: Final = frozenset(
    f"META-INF/services/org.apache.kafka.connect.{name}"
    for name in (
        "source.SourceConnector",
        "sink.SinkConnector",
        "transforms.Transformation",
        "transforms.predicates.Predicate",
        "storage.Converter",
        "storage.HeaderConverter",
    )
)
_KAFKA: Final = "org.apache.kafka."
"""What a plugin bundles of Kafka is not loaded from there."""
_SHOWN_LINKS: Final = 3


class Listing(NamedTuple):
    """The Java plugins in an image.

    Attributes:
        classes: by name.
        warnings: which classes are named there and cannot be loaded, and why.
    """

    classes: tuple[FoundClass, ...]
    warnings: tuple[str, ...]


def list_classes(mount: PluginMount) -> Listing:
    """List the classes in the folder of a mount.

    Args:
        mount: the image, with the classes that must be there, if any are declared.

    Raises:
        ConfigError: the folder holds no plugin that can be loaded, or not what is declared; all problems.
        ConnectError: a file cannot be read, or the JVM cannot look, or ends.
    """
    try:
        return _list_classes(mount)
    except OSError as e:
        where = str(e.filename).replace(mount.folder, path_in_image(mount))
        problem = f"cannot read {where} in the image {mount.image}: {e.strerror}"
        raise ConnectError(f"{problem}; let every user read what is in the folder of spec.path") from e


def _list_classes(mount: PluginMount) -> Listing:
    whole, shown, folder = f"the image {mount.image}", path_in_image(mount), Path(mount.folder)
    if folder.is_file():
        raise ConfigError(f"{whole} has a file {shown}; set spec.path to the folder that it is in")
    if not folder.is_dir() or _leads_out(folder):
        link = f", but a link to {folder.readlink()}, which leads out of it" if folder.is_symlink() else ""
        raise ConfigError(f"{whole} has no folder {shown}{link}; set spec.path to the folder with the jars")
    lost = _lost_links(folder)
    if any(link.suffix == ".jar" or link.is_dir() for link in lost):
        raise ConfigError(_about_links(lost, mount))
    try:
        plugin_locations([mount.folder])
    except ConfigError as e:
        texts = (p.message.rpartition("; ")[0].replace(mount.folder, shown) for p in e.problems)
        broken = [f"{text}; build another image, or set spec.path to another folder" for text in texts]
        raise ConfigError(Problem("", text) for text in (*broken, *_about(lost, mount))) from None
    listing, missing = _looked(mount.folder, shown, mount.classes, find_java().major, "the log of the pod says why")
    why = (*listing.warnings, *_about(lost, mount))
    if missing:
        names = ", ".join(f"{(*c.java_names, c.alias)[0]} ({c.type})" for c in missing)
        there = ", ".join(f"{c.class_name} ({c.type})" for c in listing.classes) or "no plugins"
        absent = f"{whole} does not have {names}, which spec.classes declares; it has {there}"
        raise ConfigError(Problem("", text) for text in (absent, *why))
    if not listing.classes:
        none = f"{whole} holds no plugins of Kafka Connect in {shown} besides those that Penstock has itself"
        raise ConfigError(Problem("", text) for text in why or (f"{none}; set spec.path to the folder with the jars",))
    return Listing(listing.classes, why)


def classes_for(folder: Path, shown: str, java: int) -> Listing:
    """List the classes in a folder of plugins that a runtime with another Java can load.

    Args:
        folder: with the plugins.
        shown: its name in messages.
        java: the version of that Java, which is no newer than the one here.

    Raises:
        ConfigError: a jar in it cannot be read.
        ConnectError: the JVM cannot look, or ends.
    """
    return _looked(str(folder), shown, (), java, "the lines above say why")[0]


def _looked(
    folder: str, shown: str, declared: Sequence[DeclaredClass], java: int, unexplained: str
) -> tuple[Listing, list[DeclaredClass]]:
    """Return the classes in a folder, and the declared ones that are missing."""
    try:
        locations = plugin_locations([folder])
        found = [p for location in locations for p in plugins_in(str(location)) if p.kind in _TYPES]
        missing = [c for c in declared if not any(_is_declared(c, p) for p in found)]
        for name in dict.fromkeys(n for c in missing for n in (*c.java_names, c.alias) if "." in n):
            found += [p for p in find_class(map(str, locations), name) if p.kind in _TYPES]
    except ConfigError as e:
        raise ConfigError(Problem("", p.message.replace(folder, shown)) for p in e.problems) from None
    loads_all = java >= find_java().major
    usable = [p for p in found if loads_all or _java_of(p) <= java]
    classes = tuple(_grouped(usable, folder))
    why = tuple(text.replace(folder, shown) for text in _not_loaded(locations, found, usable, java, unexplained))
    return Listing(classes, why), [c for c in missing if not any(_is_declared(c, p) for p in usable)]


def _lost_links(folder: Path) -> list[Path]:
    """The links to jars, and those that may be to plugins, which lead to nothing that the pod has of the image.

    A link with an absolute path leads to the files of the runtime's image, whatever is there.
    """
    links = {p for p in (*folder.iterdir(), *folder.rglob("*.jar")) if p.is_symlink()}
    return sorted(p for p in links if not p.exists() or _leads_out(p))


def _leads_out(path: Path) -> bool:
    """Whether a path in the image is one of the runtime's image in truth."""
    image = Path(PLUGINS_DIR, *path.relative_to(PLUGINS_DIR).parts[:1]) if path.is_relative_to(PLUGINS_DIR) else None
    return image is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(image))


def _about(lost: Sequence[Path], mount: PluginMount) -> tuple[str, ...]:
    return (_about_links(lost, mount),) if lost else ()


def _about_links(lost: Sequence[Path], mount: PluginMount) -> str:
    shown = [f"{p} (to {p.readlink()})".replace(mount.folder, path_in_image(mount)) for p in lost[:_SHOWN_LINKS]]
    more = f" and {len(lost) - _SHOWN_LINKS} more" if len(lost) > _SHOWN_LINKS else ""
    cause = f"links lead to nothing that a pod has of the image {mount.image}: {', '.join(shown)}{more}"
    return f"{cause}; put the files themselves there, or set spec.path to their folder"


def _is_declared(declared: DeclaredClass, plugin: JavaPlugin) -> bool:
    names = declared.java_names or (declared.alias,)
    of_type = _TYPES[plugin.kind] == declared.type
    return of_type and (plugin.class_name in names or plugin.simple_name in names)


def _grouped(plugins: Iterable[JavaPlugin], folder: str) -> Iterator[FoundClass]:
    paths: dict[tuple[str, PluginType, str], list[str]] = {}
    for p in plugins:
        if is_built_in(KINDS[_TYPES[p.kind]], p.class_name):  # Penstock's own runs in its place
            continue
        there = paths.setdefault((p.class_name, _TYPES[p.kind], p.version), [])
        there.append(os.path.relpath(p.location, folder))
    for (name, kind, version), where in sorted(paths.items()):
        yield FoundClass(class_name=name, type=kind, version=version, paths=tuple(sorted(set(where))))


def _not_loaded(
    locations: Sequence[Path], found: Sequence[JavaPlugin], usable: Sequence[JavaPlugin], java: int, unexplained: str
) -> Iterator[str]:
    """Say which classes of service manifests were not found, and why: Kafka Connect passes over what it cannot load."""
    for location in locations:
        jars = jars_of(location)
        named = {n for jar in jars for n in _named_in(jar) if not n.startswith(_KAFKA)}
        named |= {p.class_name for p in found if p.location == str(location)}
        if missing := sorted(named - {p.class_name for p in usable if p.location == str(location)}):
            newer = next((text for jar in jars if (text := newer_class(jar, java))), unexplained)
            yield f"cannot load {', '.join(missing)} in {location}: {newer}"


def _java_of(plugin: JavaPlugin) -> int:
    """The Java that a plugin's class is compiled for; 0 where no jar holds it."""
    return next((j for jar in jars_of(Path(plugin.location)) if (j := java_of_class(jar, plugin.class_name))), 0)


def _named_in(jar: Path) -> Iterator[str]:
    with zipfile.ZipFile(jar) as content:
        for entry in _SERVICES & set(content.namelist()):
            for line in content.read(entry).decode("utf-8", "replace").splitlines():
                if name := line.partition("#")[0].strip():
                    yield name
