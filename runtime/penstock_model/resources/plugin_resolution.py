"""Which PluginVersions the plugins of a connector come from (KIP-891, "Choosing Versions when instantiating plugins"). Pure.

A process holds one version of a distribution, since Python has no class loaders. So all places that ask for classes of one
distribution get one version, which each of them allows; where there is none, they are told. A class that no PluginVersion
offers is the runtime's own: a built-in one, or one of the runtime's image.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from packaging.utils import canonicalize_name

from penstock.errors import ConfigError, Problem
from penstock_model.connect.plugin_chain import CONNECTOR, AskedPlugin
from penstock_model.connect.versions import Version, VersionRange, choose_version
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import offering

__all__ = ["ResolvedPlugins", "resolve_plugins"]

_ONE_VERSION: Final = "a pod holds one version of a distribution, so ask for versions that agree"
T = TypeVar("T")
_Mounts = Sequence[PluginMount]
_ByPlace = Mapping[str, PluginMount]


@dataclass(frozen=True, slots=True)
class ResolvedPlugins:
    """What the classes and versions of a connector come to.

    Attributes:
        mounts: the images that its pods mount, the connector's first, each with its places. The plugins of other places are
            the runtime's own.
        problems: why no versions can be chosen.
        is_missing: all that is wrong is that PluginVersions are not there, which may still come.
    """

    mounts: tuple[PluginMount, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_missing: bool = False


class _Missing(ConfigError):
    """A PluginVersion is not there."""


def resolve_plugins(
    asked: Sequence[AskedPlugin], offers: _Mounts, kept: _ByPlace | None = None, before: _ByPlace | None = None
) -> ResolvedPlugins:
    """The PluginVersions that a connector is to run, by the classes and versions that it asks for alone.

    The connector's version is chosen first. A plugin that its distribution holds too comes from there.

    Args:
        asked: what it asks for.
        offers: what there is.
        kept: by place, the images of plugins that are asked for as before: they stay.
        before: by place, the images of plugins whose class is asked for as before, perhaps in another version. If nothing
            offers it any more, the runtime's own of that name is not meant.
    """
    kept, before = kept or {}, before or {}
    failed: list[ConfigError] = []

    def attempt(get: Callable[[], T]) -> T | None:
        try:
            return get()
        except ConfigError as e:
            failed.append(e)
            return None

    def grouped(some: Sequence[AskedPlugin], own: PluginMount | None) -> dict[str, list[AskedPlugin]]:
        groups: dict[str, list[AskedPlugin]] = {}
        for a in some:
            if (name := attempt(lambda a=a: _distribution(a, offers, own, kept, before))) is not None:  # type: ignore[misc]
                groups.setdefault(name, []).append(a)
        return groups

    def chosen(groups: Mapping[str, list[AskedPlugin]]) -> list[tuple[PluginMount, list[AskedPlugin]]]:
        found = [(attempt(lambda n=n, g=g: _version(g, _of(n, offers), kept)), g) for n, g in groups.items()]  # type: ignore[misc]
        return [(mount, group) for mount, group in found if mount is not None]

    connector = chosen(grouped([a for a in asked if a.place == CONNECTOR], None))
    own = connector[0][0] if connector else None
    beside = [a for a in asked if own is not None and a.place != CONNECTOR and _is_beside(a, own, offers, kept)]
    if own is not None:
        connector = [(own, [*connector[0][1], *beside])]
        attempt(lambda: _check_beside(own, beside))
    others = [a for a in asked if a.place != CONNECTOR and a not in beside]
    every = [*connector, *chosen(grouped(others, own))]
    return ResolvedPlugins(
        tuple(mount.numbered(n, [a.place for a in group]) for n, (mount, group) in enumerate(every)),
        tuple(p for e in failed for p in e.problems),
        is_missing=bool(failed) and all(isinstance(e, _Missing) for e in failed),
    )


def _is_beside(asked: AskedPlugin, own: PluginMount, offers: _Mounts, kept: _ByPlace) -> bool:
    """Whether a plugin comes from the connector's image: it holds it, and neither history nor a version says otherwise."""
    owned = canonicalize_name(own.plugin)
    if not offering(asked, [own]) or (asked.place in kept and canonicalize_name(kept[asked.place].plugin) != owned):
        return False
    try:
        versions = VersionRange.requested(asked.version)
    except ValueError:
        return True  # told with the problems of its own
    is_elsewhere = any(canonicalize_name(o.plugin) != owned for o in offering(asked, offers))
    return versions is None or own.version in versions or not is_elsewhere


def _distribution(
    asked: AskedPlugin, offers: _Mounts, own: PluginMount | None, kept: _ByPlace, before: _ByPlace
) -> str | None:
    """The distribution that a plugin comes from, which is not the connector's; None: it is the runtime's own."""
    owned = None if own is None else canonicalize_name(own.plugin)
    if asked.place in kept and (name := canonicalize_name(kept[asked.place].plugin)) != owned:
        return name
    every = offering(asked, offers)
    found = [o for o in every if canonicalize_name(o.plugin) != owned]
    if own is not None and every and not found:
        raise _refused(
            asked.type_property,
            f"{asked.name} is a class of {own.plugin} {_versions(every)}, but not of version {own.version}, which the "
            f"connector runs; {_ONE_VERSION}",
        )
    if len({canonicalize_name(o.plugin) for o in found}) > 1:
        whose = ", ".join(f"{o.plugin} ({o.name})" for o in found)
        raise _refused(
            asked.type_property,
            f"{asked.name} is a class of several plugins, {whose}; delete the PluginVersions of all but one",
        )
    if found:
        return canonicalize_name(found[0].plugin)
    if asked.place in before:
        last = before[asked.place]
        text = (
            f"no PluginVersion of this namespace offers {asked.name} any more; create one again (version {last.version} "
            f"came from {last.name})"
        )
        raise _Missing(Problem(asked.type_property, text))
    return None


def _version(asked: Sequence[AskedPlugin], offers: _Mounts, kept: _ByPlace) -> PluginMount:
    """The version of a distribution that all these places get: the one that they have, or the newest that they allow.

    Args:
        asked: what they ask for.
        offers: all PluginVersions of the distribution.
        kept: as for `resolve_plugins`.
    """
    wanted = [(a, _range(a)) for a in asked]
    present = [*{kept[a.place].name: kept[a.place] for a in asked if a.place in kept}.values()]
    allowed: list[list[PluginMount]] = []
    for a, versions in wanted:
        fitting = offering(a, offers)
        allowed.append([o for o in (*fitting, *offering(a, present)) if versions is None or o.version in versions])
        if not allowed[-1]:
            text = (
                f"Plugin {a.name} not found that matches the version range {versions}, available versions: "
                f"[{_versions(fitting)}]"
            )
            problem = Problem(a.version_property, text)
            raise _Missing(problem) if (a.version or "").strip() else ConfigError(problem)
    common = [o for o in (*present, *offers) if all(o in some for some in allowed)]
    if not common:
        places = " and ".join(f"{a.place} (version {a.version or 'latest'})" for a in asked)
        raise _refused(
            asked[0].version_property,
            f"{places} are of the distribution "
            f"{offers[0].plugin}, of which no version fits them all, available versions: [{_versions(offers)}]; "
            f"{_ONE_VERSION}",
        )
    if common[0] in present:
        return common[0]
    newest = choose_version([o.version for o in common], None)
    same = [o for o in common if Version(o.version) == Version(str(newest))]
    if any(o.model_copy(update={"name": same[0].name}) != same[0] for o in same):
        raise _refused(
            asked[0].version_property,
            f"version {newest} of {asked[0].name} is that of several PluginVersions that differ, "
            f"{', '.join(o.name for o in same)}; delete all but one",
        )
    return same[0]


def _check_beside(own: PluginMount, beside: Sequence[AskedPlugin]) -> None:
    """Refuse other versions of the distribution that the connector is of (KIP-891 allows them)."""
    problems = []
    for a in beside:
        if (versions := _range(a)) is not None and own.version not in versions:
            text = (
                f"{a.place} asks for version {versions} of {own.plugin}, and the connector runs {own.version} of it; "
                f"{_ONE_VERSION}: here and in spec.version"
            )
            problems.append(Problem(a.version_property, text))
    if problems:
        raise ConfigError(problems)


def _range(asked: AskedPlugin) -> VersionRange | None:
    if "${" in (asked.version or ""):
        raise _refused(asked.version_property, "is resolved before any pod could resolve variables; write the version")
    try:
        return VersionRange.requested(asked.version)
    except ValueError as e:
        raise _refused(asked.version_property, str(e)) from e


def _of(name: str, offers: _Mounts) -> _Mounts:
    return [o for o in offers if canonicalize_name(o.plugin) == name]


def _versions(offers: _Mounts) -> str:
    return ", ".join(sorted({o.version for o in offers}, key=Version))


def _refused(field: str, text: str) -> ConfigError:
    return ConfigError(Problem(field, text))
