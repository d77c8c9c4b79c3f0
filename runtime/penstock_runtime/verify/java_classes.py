"""List the Kafka Connect plugin classes in the jars of a PluginVersion's image, using a JVM."""

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
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.catalog import JavaPlugin, find_class, plugins_in
from penstock_runtime.java_plugins.locations import jars_of, plugin_locations
from penstock_runtime.plan.mounted_images import path_in_image

__all__ = ["Listing", "classes_for", "list_classes"]

_TYPES: Final[Mapping[str, PluginType]] = {word.lower(): word for word in get_args(PluginType)}
"""Plugin types of a PluginVersion, by the catalog's kinds. Config providers of the catalog are not part of tasks."""
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
"""Prefix of Kafka's classes, which are not loaded from a plugin's jars."""
_SHOWN_LINKS: Final = 3


class Listing(NamedTuple):
    """Java plugins in an image.

    Attributes:
        classes: plugin classes, sorted by name.
        warnings: classes that service manifests name but that cannot be loaded, and why.
    """

    classes: tuple[FoundClass, ...]
    warnings: tuple[str, ...]


def list_classes(mount: PluginMount) -> Listing:
    """List the classes in the folder of a mount.

    Args:
        mount: mount of the image, with the declared classes, if any, which must exist.

    Raises:
        ConfigError: the folder contains no loadable plugin, or lacks declared classes; lists all problems.
        ConnectError: a file cannot be read, or the JVM fails or exits.
    """
    try:
        return _list_classes(mount)
    except OSError as e:
        where = str(e.filename).replace(mount.folder, path_in_image(mount))
        problem = f"cannot read {where} in the image {mount.image}: {e.strerror}"
        raise ConnectError(f"{problem}; make all files in the folder of spec.path readable for every user") from e


def _list_classes(mount: PluginMount) -> Listing:
    whole, shown, folder = f"the image {mount.image}", path_in_image(mount), Path(mount.folder)
    if folder.is_file():
        raise ConfigError(f"{whole} has a file {shown}, not a folder; set spec.path to the folder that contains it")
    if not folder.is_dir() or _leads_out(folder):
        link = f", but a link to {folder.readlink()}, which is outside of it" if folder.is_symlink() else ""
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
        none = f"{whole} has no Kafka Connect plugins in {shown} other than those that Penstock itself provides"
        raise ConfigError(Problem("", text) for text in why or (f"{none}; set spec.path to the folder with the jars",))
    return Listing(listing.classes, why)


def classes_for(folder: Path, shown: str, java: int) -> Listing:
    """List the classes in a folder of plugins that a runtime with another Java can load.

    Args:
        folder: folder with the plugins.
        shown: name of the folder in messages.
        java: version of that Java, which is no newer than the local one.

    Raises:
        ConfigError: a jar in the folder cannot be read.
        ConnectError: the JVM fails or exits.
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
    """Return links to jars or plugins whose target is not in the part of the image that is mounted in the pod.

    A link with an absolute path resolves in the runtime's image.
    """
    links = {p for p in (*folder.iterdir(), *folder.rglob("*.jar")) if p.is_symlink()}
    return sorted(p for p in links if not p.exists() or _leads_out(p))


def _leads_out(path: Path) -> bool:
    """Return whether a path in the image resolves to a path of the runtime's image."""
    image = Path(PLUGINS_DIR, *path.relative_to(PLUGINS_DIR).parts[:1]) if path.is_relative_to(PLUGINS_DIR) else None
    return image is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(image))


def _about(lost: Sequence[Path], mount: PluginMount) -> tuple[str, ...]:
    return (_about_links(lost, mount),) if lost else ()


def _about_links(lost: Sequence[Path], mount: PluginMount) -> str:
    shown = [f"{p} (to {p.readlink()})".replace(mount.folder, path_in_image(mount)) for p in lost[:_SHOWN_LINKS]]
    more = f" and {len(lost) - _SHOWN_LINKS} more" if len(lost) > _SHOWN_LINKS else ""
    cause = f"links in the image {mount.image} have targets that pods do not mount: {', '.join(shown)}{more}"
    return f"{cause}; replace the links with the files, or set spec.path to the folder of the files"


def _is_declared(declared: DeclaredClass, plugin: JavaPlugin) -> bool:
    names = declared.java_names or (declared.alias,)
    of_type = _TYPES[plugin.kind] == declared.type
    return of_type and (plugin.class_name in names or plugin.simple_name in names)


def _grouped(plugins: Iterable[JavaPlugin], folder: str) -> Iterator[FoundClass]:
    paths: dict[tuple[str, PluginType, str], list[str]] = {}
    for p in plugins:
        if is_built_in(KINDS[_TYPES[p.kind]], p.class_name):  # Penstock's own implementation runs instead
            continue
        there = paths.setdefault((p.class_name, _TYPES[p.kind], p.version), [])
        there.append(os.path.relpath(p.location, folder))
    for (name, kind, version), where in sorted(paths.items()):
        yield FoundClass(class_name=name, type=kind, version=version, paths=tuple(sorted(set(where))))


def _not_loaded(
    locations: Sequence[Path], found: Sequence[JavaPlugin], usable: Sequence[JavaPlugin], java: int, unexplained: str
) -> Iterator[str]:
    """Yield which classes of service manifests could not be loaded, and why. Kafka Connect ignores such classes."""
    for location in locations:
        jars = jars_of(location)
        named = {n for jar in jars for n in _named_in(jar) if not n.startswith(_KAFKA)}
        named |= {p.class_name for p in found if p.location == str(location)}
        if missing := sorted(named - {p.class_name for p in usable if p.location == str(location)}):
            newer = next((text for jar in jars if (text := newer_class(jar, java))), unexplained)
            yield f"cannot load {', '.join(missing)} in {location}: {newer}"


def _java_of(plugin: JavaPlugin) -> int:
    """Return the Java version that a plugin's class is compiled for; 0 if no jar contains it."""
    return next((j for jar in jars_of(Path(plugin.location)) if (j := java_of_class(jar, plugin.class_name))), 0)


def _named_in(jar: Path) -> Iterator[str]:
    with zipfile.ZipFile(jar) as content:
        for entry in _SERVICES & set(content.namelist()):
            for line in content.read(entry).decode("utf-8", "replace").splitlines():
                if name := line.partition("#")[0].strip():
                    yield name
