"""Check that the images of several PluginVersions are compatible in one process, and with the runtime (KIP-891).

Kafka Connect gives each plugin a class loader. Python has one namespace of modules, so different versions in two folders are
rejected before a task imports the wrong one.
"""

import platform
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution
from itertools import combinations
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import parse_tag, sys_tags
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from penstock import Problem
from penstock_model.connect.plugin_chain import type_property
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_runtime.plugins.image_modules import Modules, modules_of, overlapping
from penstock_runtime.plugins.mounted import distributions, own_distribution

__all__ = ["check_agreement"]

_REMEDY: Final = (
    "a process imports only one of them; use versions that contain the same one, or build one image with both plugins"
)


@dataclass(frozen=True)
class _Held:
    """Contents of an image.

    Attributes:
        mount: mount of the image.
        used: its distributions, by name, except those that the runtime has as well.
        copies: names of those exceptions, which are not used.
        modules: modules in its folder; empty if there is only one image.
    """

    mount: PluginMount
    used: Mapping[NormalizedName, Distribution]
    copies: frozenset[NormalizedName]
    modules: Modules

    def __str__(self) -> str:
        return f"the PluginVersion {self.mount.name}"


def check_agreement(mounts: Sequence[PluginMount]) -> Iterator[Problem]:
    """Yield conflicts of the images with each other and with the runtime, under the property that requests the plugin.

    Unreadable metadata is not rejected here: importing the plugin reveals such errors.
    """
    folders = [m.folder for m in mounts]
    held = [_held(m, folders) for m in mounts]
    extras = _extras(held)
    for image in held:
        yield from _python(image)
        yield from _requirements(image, held, folders, extras)
    for one, other in combinations(held, 2):
        yield from _versions(one, other)
        yield from _modules(one, other)


def _held(mount: PluginMount, folders: Sequence[str]) -> _Held:
    there = {canonicalize_name(d.name): d for d in distributions([mount.folder])}
    copies = frozenset(name for name in there if own_distribution(name, folders) is not None)
    used = {name: d for name, d in there.items() if name not in copies}
    return _Held(mount, used, copies, modules_of(mount.folder) if len(folders) > 1 else {})


def _python(image: _Held) -> Iterator[Problem]:
    """Yield a problem for each distribution built for another Python or another platform than the runtime's."""
    ours, version = {*sys_tags()}, platform.python_version()
    runtime = f"the runtime is Python {version} on {platform.system()} {platform.machine()}"
    for found in image.used.values():
        tags = _tags(found)
        with suppress(ValueError):
            if tags and not any(parse_tag(tag) & ours for tag in tags):
                built = f"contains {found.name} {found.version} built for {', '.join(tags)}"
                yield _problem(image, f"{built}, but {runtime}; build the image for it")
        wanted = next(iter(found.metadata.get_all("Requires-Python") or ()), "")
        if not _contains(wanted, version):
            needs = f"contains {found.name} {found.version}, which needs Python {wanted}"
            yield _problem(image, f"{needs}, but {runtime}; use a version that supports it")


def _tags(found: Distribution) -> list[str]:
    """Return the tags of the wheel: the Python versions and platforms that it was built for."""
    text = ""
    with suppress(OSError, UnicodeError):
        text = found.read_text("WHEEL") or ""
    return [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Tag:")]


def _requirements(
    image: _Held, held: Sequence[_Held], folders: Sequence[str], extras: Mapping[str, set[str]]
) -> Iterator[Problem]:
    """Yield requirements that the runtime or another image has in an incompatible version.

    Missing requirements are found by importing the plugin. The image's author is responsible for requirements that the image
    itself contains.
    """
    for name, found in image.used.items():
        for wanted in _wanted(found, {"", *extras.get(name, ())}):
            needed = canonicalize_name(wanted.name)
            if (own := own_distribution(needed, folders)) is not None:
                whose, version = "the runtime has", own.version
            elif needed not in image.used and (other := next((h for h in held if needed in h.used), None)):
                whose, version = f"{other} contains", other.used[needed].version
            else:
                continue
            if not _contains(str(wanted.specifier), version):
                yield _problem(
                    image,
                    f"contains {found.name} {found.version}, which needs {wanted.name}{wanted.specifier}, but {whose} "
                    f"{needed} {version}, which is imported; use a version of {found.name} that is compatible with it",
                )


def _extras(held: Sequence[_Held]) -> Mapping[str, set[str]]:
    """Return the extras that requirements request (`base[avro]`), by distribution."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for image in held:
        for d in image.used.values():
            for wanted in _wanted(d, {""}):
                found[canonicalize_name(wanted.name)] |= wanted.extras
    return found


def _wanted(found: Distribution, extras: set[str]) -> Iterator[Requirement]:
    """Yield the requirements that apply on this machine, with these extras."""
    for text in found.requires or ():
        with suppress(InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            wanted = Requirement(text)
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": e}) for e in extras):
                yield wanted


def _versions(one: _Held, other: _Held) -> Iterator[Problem]:
    for name in sorted(one.used.keys() & other.used.keys()):
        first, second = one.used[name].version, other.used[name].version
        if not _same(first, second):
            yield _problem(other, f"contains {name} {second}, and {one} contains {name} {first}; {_REMEDY}")


def _modules(one: _Held, other: _Held) -> Iterator[Problem]:
    """Yield modules of different distributions with the same name. `_versions` compares versions of one distribution."""
    reported = set[tuple[frozenset[str], frozenset[str]]]()
    for mine, theirs in overlapping(one.modules, other.modules):
        owners, owners2 = one.modules[mine], other.modules[theirs]
        if owners & one.copies or owners2 & other.copies or owners & owners2 or (owners, owners2) in reported:
            continue
        reported.add((owners, owners2))
        here, there = f"{theirs} (of {_listed(owners2)})", f"{mine} (of {_listed(owners)})"
        yield _problem(other, f"contains the module {here}, and {one} contains {there}; {_REMEDY}")


def _listed(owners: frozenset[str]) -> str:
    return ", ".join(sorted(owners)) or "no distribution"


def _same(version: str, other: str) -> bool:
    try:
        return Version(version) == Version(other)
    except InvalidVersion:
        return version == other


def _contains(specifier: str, version: str) -> bool:
    """Return whether a version matches; True if either cannot be parsed."""
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def _problem(image: _Held, text: str) -> Problem:
    return Problem(type_property(image.mount.places[0]), f"{image} {text}")
