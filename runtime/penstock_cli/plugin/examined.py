"""Problems that an installed plugin project would have in the pods that mount it. Nothing is imported."""

import sys
from collections.abc import Iterator
from importlib.metadata import Distribution

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from penstock.errors import Problem
from penstock_cli.plugin.installed import Installed, needed
from penstock_cli.plugin.project import ENTRY_POINTS
from penstock_cli.plugin.runtime_image import PYTHON, hides_module, marker_environment, packages
from penstock_runtime.plugins.discovery import GROUP
from penstock_runtime.plugins.image_modules import modules_of

__all__ = ["problems_of", "warnings_of"]

_OF_TESTS = ("test", "tests", "conftest")


def problems_of(found: Installed, architecture: str) -> Iterator[Problem]:
    """Yield the reasons why a pod would reject the project, or could not import it."""
    if canonicalize_name(found.own.name) in packages():
        yield Problem("project.name", f"{found.own.name} is the name of a package of the runtime; choose another name")
    if not found.own.entry_points.select(group=GROUP):
        yield Problem(ENTRY_POINTS, 'is missing; add a line for each plugin, such as Files = "acme_files:Files"')
    yield from _hidden(found)
    yield from _pythons(found)
    yield from _requirements(found, architecture)


def warnings_of(found: Installed) -> Iterator[Problem]:
    """Yield problems that are likely to occur later."""
    for name, owners in sorted(modules_of(str(found.folder)).items()):
        if name in _OF_TESTS and canonicalize_name(found.own.name) in owners:
            yield Problem(
                "",
                f"the image would contain the module {name}; exclude tests from the wheel, because two images with a "
                "module of the same name cannot be used together",
            )


def _hidden(found: Installed) -> Iterator[Problem]:
    """Yield modules of the project that cannot be imported from the image: a module of the same name precedes them."""
    for name, owners in sorted(modules_of(str(found.folder)).items()):
        whose = hides_module(name)
        if whose is not None and canonicalize_name(found.own.name) in owners:
            yield Problem("", f"the module {name} would not be used, since {whose} is imported instead; rename it")


def _pythons(found: Installed) -> Iterator[Problem]:
    version = marker_environment("amd64")["python_full_version"]
    for distribution in (found.own, *found.brought.values()):
        wanted = next(iter(distribution.metadata.get_all("Requires-Python") or ()), "")
        if not _contains(wanted, version):
            yield Problem(
                "project.requires-python",
                f"{distribution.name} {distribution.version} needs Python {wanted}, but the runtime has {version}",
            )


def _requirements(found: Installed, architecture: str) -> Iterator[Problem]:
    """Yield requirements that neither the image nor the runtime has, or has only in a version that does not match."""
    own = canonicalize_name(found.own.name)
    held: dict[NormalizedName, Distribution] = {own: found.own, **found.brought}
    waiting = [(name, frozenset[str]()) for name in held]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop(0)
        for wanted in needed(held[name], architecture, extras):
            key = canonicalize_name(wanted.name)
            version = packages().get(key) or (held[key].version if key in held else None)
            who = f"{held[name].name} {held[name].version} needs {wanted.name}{wanted.specifier}"
            if version is None:
                yield Problem(
                    "project.dependencies",
                    f"{who} on the runtime's Python {'.'.join(map(str, PYTHON))}, but "
                    f"pip on Python {sys.version_info[0]}.{sys.version_info[1]} omitted it; build with the "
                    "runtime's Python, or add it to the project's dependencies without a marker",
                )
            elif not _contains(str(wanted.specifier), version):
                yield Problem(
                    "project.dependencies", f"{who}, but {key} was resolved to {version}; choose compatible versions"
                )
            elif key in held and wanted.extras and (more := (key, frozenset(wanted.extras))) not in seen:
                seen.add(more)
                waiting.append(more)


def _contains(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True
