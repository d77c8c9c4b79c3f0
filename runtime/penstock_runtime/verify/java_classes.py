"""Looks which classes of Kafka Connect's plugins are in the jars of a PluginVersion's image, in a JVM."""

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, get_args

from penstock import ConfigError, Problem
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount, PluginType
from penstock_model.contracts.verification import FoundClass
from penstock_model.resources.plugin_offers import KINDS
from penstock_runtime.java import find_java
from penstock_runtime.java_plugins.catalog import JavaPlugin, discover, find_class
from penstock_runtime.java_plugins.locations import plugin_locations
from penstock_runtime.plan.mounted_images import path_in_image

__all__ = ["found_classes"]

_TYPES: Final[Mapping[str, PluginType]] = {word.lower(): word for word in get_args(PluginType)}
"""The words of a PluginVersion, by those of the catalog."""
_SERVICES: Final = "META-INF/services/org.apache.kafka.connect."
_FIRST_JAVA: Final = 44
"""What the version of a class file is greater by than that of its Java."""


def found_classes(mount: PluginMount) -> tuple[FoundClass, ...]:
    """The classes in the folder of a mount, by name.

    Args:
        mount: the image, with the classes that must be there, if any are declared.

    Raises:
        ConfigError: the folder holds no plugin, one for a newer Java, or not what is declared; all problems.
        ConnectError: the JVM cannot look, or ends.
    """
    whole = f"the image {mount.image}"
    if not Path(mount.folder).is_dir():
        raise ConfigError(f"{whole} has no folder {path_in_image(mount)}; set spec.path to the folder with the jars")
    try:
        locations = plugin_locations([mount.folder])
        if problems := [Problem("", f"{whole} {text}") for text in _for_newer_java(locations)]:
            raise ConfigError(problems)
        found = list(discover([mount.folder]))
        missing = [c for c in mount.classes if not any(_is_declared(c, p) for p in found)]
        for name in dict.fromkeys(n for c in missing for n in (*c.java_names, c.alias) if "." in n):
            found += find_class(map(str, locations), name)
    except ConfigError as e:
        texts = [p.message.replace(mount.folder, path_in_image(mount)) for p in e.problems]
        raise ConfigError(Problem("", text) for text in texts) from None
    if missing := [c for c in missing if not any(_is_declared(c, p) for p in found)]:
        there = ", ".join(sorted({f"{p.class_name} ({_TYPES[p.kind]})" for p in found}))
        names = ", ".join(f"{(*c.java_names, c.alias)[0]} ({c.type})" for c in missing)
        raise ConfigError(f"{whole} does not have {names}, which spec.classes declares; it has {there}")
    return tuple(_grouped(found, mount.folder))


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


def _for_newer_java(locations: Sequence[Path]) -> Iterator[str]:
    """Of plugins' own classes, as service manifests name them, those that this Java cannot load: Java passes over them."""
    ours = find_java().major
    for location in locations:
        for jar in [location] if location.is_file() else sorted(location.rglob("*.jar")):
            with zipfile.ZipFile(jar) as content:
                for name in _declared_in(content):
                    if (needed := _java_of(content, name)) > ours:
                        yield (
                            f"has {name} in {jar}, which is compiled for Java {needed}, and the runtime has Java {ours}; "
                            f"use a version of the plugin for Java {ours}"
                        )
                        break


def _declared_in(jar: zipfile.ZipFile) -> Iterator[str]:
    for entry in jar.namelist():
        if entry.startswith(_SERVICES):
            for line in jar.read(entry).decode("utf-8", "replace").splitlines():
                if name := line.partition("#")[0].strip():
                    yield name


def _java_of(jar: zipfile.ZipFile, class_name: str) -> int:
    """The Java that a class is compiled for; 0 where it is not in this jar."""
    try:
        with jar.open(f"{class_name.replace('.', '/')}.class") as content:
            header = content.read(8)
    except KeyError:
        return 0
    return int.from_bytes(header[6:8], "big") - _FIRST_JAVA
