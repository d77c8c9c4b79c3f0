"""Check that the image of a PluginVersion contains what the PluginVersion declares (KIP-891), before any task runs it."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from penstock import Converter, HeaderConverter, Plugin, Predicate, Problem, SinkConnector, SourceConnector, Transform
from penstock_model.connect.plugin_chain import type_property
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.contracts.pod_layout import PLUGINS_DIR
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.plan.image_agreement import check_agreement
from penstock_runtime.plugins.discovery import GROUP, load
from penstock_runtime.plugins.image_modules import modules_of
from penstock_runtime.plugins.mounted import distributions, is_named, own_distribution

__all__ = ["check_class", "check_classes", "check_images", "ignored_copies", "path_in_image", "type_of"]

_TYPES: Final[Mapping[str, type[Plugin]]] = {
    "source": SourceConnector,
    "sink": SinkConnector,
    "transform": Transform,
    "predicate": Predicate,
    "converter": Converter,
    "headerConverter": HeaderConverter,
}
"""Base class of each plugin type of a PluginVersion."""


def check_images(mounts: Sequence[PluginMount]) -> list[Problem]:
    """Return differences between the images and their declarations or, if there are none, conflicts between the images.

    Imports no plugin.
    """
    folders = [m.folder for m in mounts]
    of_python = [m for m in mounts if m.runtime == "Python"]
    missing = (m for m in mounts if m.runtime == "Java" and not Path(m.folder).exists())
    problems = [*(_not_there(m) for m in missing), *(p for m in of_python for p in _check_image(m, folders))]
    return problems or [*check_agreement(of_python)]


def _not_there(mount: PluginMount) -> Problem:
    text = (
        f"the PluginVersion {mount.name} lists {mount.plugin} {mount.version}, but its image {mount.image} has no "
        f"{path_in_image(mount)}; create the PluginVersion again under another name"
    )
    return Problem(type_property(mount.places[0]), text)


def path_in_image(mount: PluginMount) -> str:
    """Return the path of the folder, or the jar, within the image."""
    return "/" + mount.folder.removeprefix(f"{PLUGINS_DIR}/").partition("/")[2]


def _check_image(mount: PluginMount, folders: Collection[str]) -> Iterator[Problem]:
    if not Path(mount.folder).is_dir():
        yield _problem(mount, "has no folder at the path that the PluginVersion names", "correct its spec.path")
        return
    held = [*distributions([mount.folder])]
    found = next((d for d in held if is_named(d, mount.plugin)), None)
    if found is None:
        names = ", ".join(sorted(f"{d.name} {d.version}" for d in held)) or "no Python distribution"
        yield _problem(mount, f"contains {names} there", f"spec.plugin and spec.path must refer to {mount.plugin}")
        return
    if found.version != mount.version:
        yield _problem(mount, f"contains {found.name} {found.version}", "declare that version under another name")
    if (own := own_distribution(mount.plugin, folders)) is not None:
        yield Problem(
            type_property(mount.places[0]),
            f"the runtime's image has its own {own.name} {own.version}, which would run instead of the one in the "
            f"image of the PluginVersion {mount.name}; remove it from the runtime's image",
        )
    declared, there = {c.alias for c in mount.classes}, {e.name for e in found.entry_points.select(group=GROUP)}
    if declared != there:
        yield _problem(
            mount, f"contains the classes {_listed(there)}, not {_listed(declared)} as declared", "declare its classes"
        )


def check_classes(
    mount: PluginMount, plugins: Mapping[str, PluginReference], folders: Collection[str]
) -> Iterator[Problem]:
    """Yield differences between the classes in use and their declarations.

    Args:
        mount: mount of an image.
        plugins: plugins by place, as in a task spec.
        folders: folders of all images. Modules in several of them are equal and are imported from the first.
    """
    for place, reference in plugins.items():
        if place in mount.places:
            yield from check_class(mount, place, reference.alias, load(reference.reference), folders)


def check_class(
    mount: PluginMount, place: str, alias: str, cls: type[Plugin], folders: Collection[str]
) -> Iterator[Problem]:
    """Yield differences between an imported class and its declaration; arguments as for `check_classes`."""
    declared = next((c for c in mount.classes if c.alias == alias), None)
    if not _is_within(folders, cls):
        yield _not_from_image(mount, place, alias, cls)
    elif declared is not None:
        yield from _differences(mount, declared, cls)


def type_of(cls: type[Plugin]) -> str | None:
    """Return the plugin type of a class, as in a PluginVersion; None if it has none."""
    return next((word for word, base in _TYPES.items() if issubclass(cls, base)), None)


def ignored_copies(mount: PluginMount, folders: Collection[str]) -> Iterator[Problem]:
    """Yield a warning that lists packages in both the image and the runtime: the runtime's are imported."""
    there = {canonicalize_name(d.name): d for d in distributions([mount.folder]) if not is_named(d, mount.plugin)}
    pairs = ((name, d, own_distribution(d.name, folders)) for name, d in there.items())
    copies = {n: f"{d.name} {d.version} (the runtime has {own.version})" for n, d, own in pairs if own is not None}
    paths = [p for p in sys.path if p not in folders]
    hidden = [
        f"module {name} (of {', '.join(sorted(owners)) or 'no distribution'})"
        for name, owners in sorted(modules_of(mount.folder).items())
        if "." not in name and not owners & copies.keys() and _is_package(PathFinder.find_spec(name, paths))
    ]
    if unused := [*copies.values(), *hidden]:
        text = (
            f"the image of the PluginVersion {mount.name} contains {', '.join(unused)}: these copies are not used, "
            "since the runtime's are imported"
        )
        yield Problem("", text)


def _is_package(spec: ModuleSpec | None) -> bool:
    """Return whether a module was found that is not just a namespace, which has no file."""
    return spec is not None and spec.origin is not None


def _is_within(folders: Collection[str], cls: type[Plugin]) -> bool:
    file = _file(cls)
    return file is not None and any(Path(file).resolve().is_relative_to(Path(f).resolve()) for f in folders)


def _file(cls: type[Plugin]) -> str | None:
    return getattr(sys.modules.get(cls.__module__), "__file__", None)


def _not_from_image(mount: PluginMount, place: str, alias: str, cls: type[Plugin]) -> Problem:
    module = cls.__module__.partition(".")[0]
    return Problem(
        type_property(place),
        f"{alias} is not imported from the image of the PluginVersion {mount.name}: the module {module} is in the runtime's "
        f"image too ({_file(cls)}), and takes precedence; rename the module of the plugin",
    )


def _differences(mount: PluginMount, declared: DeclaredClass, cls: type[Plugin]) -> Iterator[Problem]:
    if not issubclass(cls, _TYPES[declared.type]):
        yield _problem(
            mount,
            f"contains {declared.alias} as a {type_of(cls) or 'plugin'}, not a {declared.type} as declared",
            "correct the type",
        )
    if {*declared.java_names} != {*cls.java_names}:
        yield _problem(
            mount,
            f"contains {declared.alias} with the javaNames {_listed(cls.java_names)}, not "
            f"{_listed(declared.java_names)} as declared",
            "correct the javaNames",
        )


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(sorted(names))}]"


def _problem(mount: PluginMount, found: str, remedy: str) -> Problem:
    declared = f"the PluginVersion {mount.name} declares {mount.plugin} {mount.version}"
    return Problem(type_property(mount.places[0]), f"{declared}, but its image {mount.image} {found}; {remedy}")
