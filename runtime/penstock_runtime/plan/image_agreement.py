"""Whether the images of several PluginVersions go together in one process, and with the runtime (KIP-891).

Kafka Connect gives each plugin a class loader. Python has one namespace of modules, so that what two folders bring in
different versions is refused before a task imports one of them in place of the other.
"""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from itertools import combinations
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import parse_tag, sys_tags
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from penstock import Problem
from penstock_model.connect.plugin_chain import type_property
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_runtime.plugins.image_modules import modules_of, overlapping
from penstock_runtime.plugins.mounted import distributions, own_distribution

__all__ = ["check_agreement"]

_REMEDY: Final = (
    "a process imports one of them: take versions that bring the same, or make one image that holds both plugins"
)


@dataclass(frozen=True)
class _Held:
    """What an image brings.

    Attributes:
        mount: of the image.
        used: its distributions, by name. Those that the runtime has as well are not used.
        copies: the names of those that are not used.
    """

    mount: PluginMount
    used: dict[str, Distribution]
    copies: frozenset[str]

    def __str__(self) -> str:
        return f"the PluginVersion {self.mount.name}"


def check_agreement(mounts: Sequence[PluginMount]) -> Iterator[Problem]:
    """What of the images contradicts another image or the runtime, under the property that asks for the plugin."""
    folders = [m.folder for m in mounts]
    held = [_held(m, folders) for m in mounts]
    for image in held:
        yield from _python(image)
        yield from _requirements(image, held, folders)
    for one, other in combinations(held, 2):
        yield from _versions(one, other)
        yield from _modules(one, other)


def _held(mount: PluginMount, folders: Sequence[str]) -> _Held:
    there = {canonicalize_name(d.name): d for d in distributions([mount.folder])}
    copies = frozenset(name for name in there if own_distribution(name, folders) is not None)
    return _Held(mount, {name: d for name, d in there.items() if name not in copies}, copies)


def _python(image: _Held) -> Iterator[Problem]:
    """What was built for another Python or another machine than the runtime's."""
    ours, version = {*sys_tags()}, platform.python_version()
    runtime = f"the runtime is Python {version} on {platform.system()} {platform.machine()}"
    for found in image.used.values():
        lines = (found.read_text("WHEEL") or "").splitlines()
        tags = [line.partition(":")[2].strip() for line in lines if line.startswith("Tag:")]
        if tags and not any(parse_tag(tag) & ours for tag in tags):
            built = f"brings {found.name} {found.version} built for {', '.join(tags)}"
            yield _problem(image, f"{built}, and {runtime}; build the image for that")
        wanted = next(iter(found.metadata.get_all("Requires-Python") or ()), "")
        if not _contains(wanted, version):
            needs = f"brings {found.name} {found.version}, which needs Python {wanted}"
            yield _problem(image, f"{needs}, and {runtime}; use a version of it for that")


def _requirements(image: _Held, held: Sequence[_Held], folders: Sequence[str]) -> Iterator[Problem]:
    """Requirements that are there in a version that does not do. What is not there at all, imports tell."""
    for found in image.used.values():
        for text in found.requires or ():
            try:
                wanted = Requirement(text)
            except InvalidRequirement:
                continue
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
                continue
            name = canonicalize_name(wanted.name)
            if (own := own_distribution(name, folders)) is not None:
                whose, version = "the runtime has", own.version
            elif bringing := next((h for h in held if name in h.used), None):
                whose, version = f"{bringing} brings", bringing.used[name].version
            else:
                continue
            if not _contains(str(wanted.specifier), version):
                yield _problem(
                    image,
                    f"brings {found.name} {found.version}, which needs {wanted.name}{wanted.specifier}, but {whose} "
                    f"{name} {version}, which is imported; use a version of {found.name} that goes with it",
                )


def _versions(one: _Held, other: _Held) -> Iterator[Problem]:
    for name in sorted(one.used.keys() & other.used.keys()):
        first, second = one.used[name].version, other.used[name].version
        if first != second:
            yield _problem(other, f"brings {name} {second}, and {one} brings {name} {first}; {_REMEDY}")


def _modules(one: _Held, other: _Held) -> Iterator[Problem]:
    """Modules of different distributions that have one name."""
    first, second = (modules_of(h.mount.folder) for h in (one, other))
    told = set[tuple[str | None, str | None]]()
    for mine, theirs in overlapping(first, second):
        owner, owner2 = first[mine], second[theirs]
        if owner in one.copies or owner2 in other.copies or (owner is not None and owner == owner2):
            continue  # not used; or one distribution, whose versions are compared
        if (owner, owner2) not in told:
            told.add((owner, owner2))
            here, there = f"{theirs} (of {owner2 or 'no distribution'})", f"{mine} (of {owner or 'no distribution'})"
            yield _problem(other, f"brings the module {here}, and {one} brings {there}; {_REMEDY}")


def _contains(specifier: str, version: str) -> bool:
    """Whether a version does; what cannot be read is not refused here."""
    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def _problem(image: _Held, text: str) -> Problem:
    return Problem(type_property(image.mount.places[0]), f"{image} {text}")
