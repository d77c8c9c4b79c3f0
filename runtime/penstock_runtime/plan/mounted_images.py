"""Whether the image of a PluginVersion holds what that declares (KIP-891): looked at before any task runs it."""

import inspect
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from penstock import Connector, Plugin, Problem, SourceConnector
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_runtime.plugins.discovery import GROUP
from penstock_runtime.plugins.mounted import distributions, is_named

__all__ = ["check_class", "check_image", "ignored_copies"]

_FIELD = "spec.class"


def check_image(mount: PluginMount) -> Iterator[Problem]:
    """What the image's folder lacks of the declaration, or holds beside it. Nothing of a plugin is imported."""
    if not Path(mount.folder).is_dir():
        yield _problem(mount, "has no folder of the path that the PluginVersion names", "set its spec.path")
        return
    held = [*distributions([mount.folder])]
    found = next((d for d in held if is_named(d, mount.plugin)), None)
    if found is None:
        names = ", ".join(sorted(f"{d.name} {d.version}" for d in held)) or "no Python distribution"
        yield _problem(mount, f"holds {names} there", f"spec.plugin and spec.path must lead to {mount.plugin}")
        return
    if found.version != mount.version:
        yield _problem(mount, f"holds {found.name} {found.version}", "declare that version, under another name")
    if (own := next((d for d in _own(mount) if is_named(d, mount.plugin)), None)) is not None:
        yield Problem(
            _FIELD,
            f"the runtime's image has a {own.name} {own.version} of its own, which would run in place of the one that the "
            f"PluginVersion {mount.name} brings; remove it from the runtime's image",
        )
    declared, there = {c.alias for c in mount.classes}, {e.name for e in found.entry_points.select(group=GROUP)}
    if declared != there:
        yield _problem(
            mount, f"holds the classes {_listed(there)}, and it declares {_listed(declared)}", "declare what is there"
        )


def check_class(mount: PluginMount, alias: str, cls: type[Plugin]) -> Iterator[Problem]:
    """What a class of the image is otherwise than declared."""
    declared = next((c for c in mount.classes if c.alias == alias), None)
    if declared is None:
        yield _problem(
            mount, f"does not hold {alias} as one of the classes {_listed({c.alias for c in mount.classes})}", ""
        )
        return
    file = inspect.getsourcefile(cls)
    if file is None or not Path(file).resolve().is_relative_to(Path(mount.folder).resolve()):
        module = cls.__module__.partition(".")[0]
        yield Problem(
            _FIELD,
            f"{alias} is not imported from the image of the PluginVersion {mount.name}: the module {module} is in the "
            f"runtime's image too ({file}), and comes first; give the module of the plugin another name",
        )
    yield from _differences(mount, declared, cls)


def ignored_copies(mount: PluginMount) -> Iterator[Problem]:
    """A warning of distributions in the image that the runtime has as well: the runtime's are imported."""
    own = {d.name.lower(): d for d in _own(mount)}
    copies = [d for d in distributions([mount.folder]) if d.name.lower() in own and not is_named(d, mount.plugin)]
    if copies:
        listed = ", ".join(f"{d.name} {d.version} (the runtime has {own[d.name.lower()].version})" for d in copies)
        yield Problem(
            "", f"the image of the PluginVersion {mount.name} brings its own {listed}: these copies are not used"
        )


def _differences(mount: PluginMount, declared: DeclaredClass, cls: type[Plugin]) -> Iterator[Problem]:
    if issubclass(cls, Connector):
        kind = "source" if issubclass(cls, SourceConnector) else "sink"
        if declared.type != kind:
            yield _problem(
                mount, f"holds {declared.alias} as a {kind}, and it declares a {declared.type}", "correct it"
            )
    if {*declared.java_names} != {*cls.java_names}:
        yield _problem(
            mount,
            f"holds {declared.alias} with the javaNames {_listed(cls.java_names)}, and it declares "
            f"{_listed(declared.java_names)}",
            "correct them",
        )


def _own(mount: PluginMount) -> Iterator[Distribution]:
    return distributions(p for p in sys.path if p != mount.folder)


def _listed(names: Any) -> str:
    return f"[{', '.join(sorted(names))}]"


def _problem(mount: PluginMount, found: str, remedy: str) -> Problem:
    declared = f"the PluginVersion {mount.name} declares {mount.plugin} {mount.version}"
    remedy = f"; {remedy}" if remedy else ""
    return Problem(_FIELD, f"{declared}, but its image {mount.image} {found}{remedy}")
