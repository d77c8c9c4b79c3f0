"""Choose the PluginVersions of a connector's plugins (KIP-891, "Choosing Versions when instantiating plugins"). Pure.

A process can load only one version of a distribution, because Python has no class loaders. All places that request classes
of one distribution therefore get one version that each of them allows; if there is none, the error names the places. Java
has class loaders, so each place gets the version that it requests. A class that no PluginVersion offers comes from the
runtime: it is built in, or in the runtime image.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from packaging.utils import canonicalize_name

from penstock.errors import ConfigError, Problem
from penstock_model.connect.plugin_chain import CONNECTOR, AskedPlugin
from penstock_model.connect.version_messages import not_found, there_are
from penstock_model.connect.versions import Version, VersionRange, choose_version
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import offering

__all__ = ["ResolvedPlugins", "resolve_plugins"]

_NO_VERSION: Final = "undefined"
"""Version that the status of a PluginVersion states for a Java class that declares none."""
_ONE_VERSION: Final = "a pod can have only one version of a distribution; request compatible versions"
T = TypeVar("T")
_Mounts = Sequence[PluginMount]
_ByPlace = Mapping[str, PluginMount]


@dataclass(frozen=True, slots=True)
class ResolvedPlugins:
    """Result of resolving the classes and versions of a connector.

    Attributes:
        mounts: the images that its pods mount, the connector's first, each with its places. The plugins of other places
            come from the runtime.
        problems: why no versions can be chosen.
        is_missing: whether the only problem is that PluginVersions do not exist; they may be created later.
    """

    mounts: tuple[PluginMount, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_missing: bool = False

    def waiting_for(self, problems: Iterable[Problem]) -> "ResolvedPlugins":
        """Return a copy with these problems of PluginVersions that may be created later, at most one per property."""
        named = {p.property for p in self.problems}
        more = tuple(p for p in problems if p.property not in named)
        is_missing = self.is_missing or (bool(more) and not self.problems)
        return ResolvedPlugins(self.mounts, (*self.problems, *more), is_missing)


class _Missing(ConfigError):
    """A PluginVersion does not exist."""


def resolve_plugins(
    asked: Sequence[AskedPlugin], offers: _Mounts, kept: _ByPlace | None = None, before: _ByPlace | None = None
) -> ResolvedPlugins:
    """Return the PluginVersions that a connector runs, chosen only by the classes and versions that it requests.

    The connector's version is chosen first. Other plugins that its distribution contains are taken from it.

    Args:
        asked: the requested plugins.
        offers: the available PluginVersions.
        kept: by place, the current images of plugins whose request is unchanged: they are kept.
        before: by place, the current images of plugins whose requested class is unchanged, perhaps in another version. If
            it is no longer offered, the runtime's class of that name is not used instead.
    """
    kept, before = kept or {}, before or {}
    failed: list[ConfigError] = []

    def attempt(get: Callable[[], T]) -> T | None:
        try:
            return get()
        except ConfigError as e:
            failed.append(e)
            return None

    java = {canonicalize_name(m.plugin) for m in (*offers, *kept.values()) if m.runtime == "Java"}

    def chosen(some: Sequence[AskedPlugin], own: PluginMount | None) -> list[tuple[PluginMount, list[AskedPlugin]]]:
        groups: dict[tuple[str, str], list[AskedPlugin]] = {}
        for a in some:
            if (name := attempt(lambda a=a: _distribution(a, offers, own, kept, before))) is not None:  # type: ignore[misc]
                groups.setdefault((name, a.place if name in java else ""), []).append(a)
        found = [
            (attempt(lambda n=n, g=g: _version(g, _of(n, offers), kept, own)), g)  # type: ignore[misc]
            for (n, _), g in groups.items()
        ]
        return [(mount, group) for mount, group in found if mount is not None]

    connector = chosen([a for a in asked if a.place == CONNECTOR], None)
    own = connector[0][0] if connector else None
    together = [
        a for a in asked if own is not None and a.place != CONNECTOR and _is_of_same_distribution(a, own, offers, kept)
    ]
    if own is not None:
        connector = [(own, [*connector[0][1], *together])]
        attempt(lambda: _check_same_version(own, together, offers))
    others = [a for a in asked if a.place != CONNECTOR and a not in together]
    every = [(mount, [a.place for a in group]) for mount, group in (*connector, *chosen(others, own))]
    return ResolvedPlugins(
        tuple(_numbered(every)),
        tuple(p for e in failed for p in e.problems),
        is_missing=bool(failed) and all(isinstance(e, _Missing) for e in failed),
    )


def _numbered(every: Sequence[tuple[PluginMount, Sequence[str]]]) -> Iterator[PluginMount]:
    """Yield the mounts in order. Java classes in one folder share its number, because the folder is mounted once."""
    numbers: dict[object, int] = {}
    for mount, places in every:
        key = (mount.image, mount.numbered(0, ()).folder) if mount.runtime == "Java" else object()
        yield mount.numbered(numbers.setdefault(key, len(numbers)), places)


def _is_of_same_distribution(asked: AskedPlugin, own: PluginMount, offers: _Mounts, kept: _ByPlace) -> bool:
    """Return whether a plugin is taken from the connector's image.

    It is if the image contains it, unless the plugin already comes from another distribution, or the requested versions
    exclude the connector's and another distribution offers the plugin.
    """
    owned = canonicalize_name(own.plugin)
    if not offering(asked, [own]) or (asked.place in kept and canonicalize_name(kept[asked.place].plugin) != owned):
        return False
    try:
        versions = VersionRange.requested(asked.version)
    except ValueError:
        return True  # reported with the problems of its place
    is_elsewhere = any(canonicalize_name(o.plugin) != owned for o in offering(asked, offers))
    return versions is None or own.version in versions or not is_elsewhere


def _distribution(
    asked: AskedPlugin, offers: _Mounts, own: PluginMount | None, kept: _ByPlace, before: _ByPlace
) -> str | None:
    """Return the distribution of a plugin that is not in the connector's; None if it comes from the runtime."""
    owned = None if own is None else canonicalize_name(own.plugin)
    if asked.place in kept and (name := canonicalize_name(kept[asked.place].plugin)) != owned:
        return name
    every = offering(asked, offers)
    found = [o for o in every if canonicalize_name(o.plugin) != owned]
    if own is not None and every and not found:
        raise _refused(
            asked.type_property,
            f"{asked.name} is a class of {own.plugin}, but not of version {own.version}, which the connector runs; "
            f"{there_are(o.version for o in every)}; {_ONE_VERSION}",
        )
    if len({canonicalize_name(o.plugin) for o in found}) > 1 and (versions := _range(asked)) is not None:
        found = [o for o in found if o.version in versions] or found
    if len({canonicalize_name(o.plugin) for o in found}) > 1:
        whose = ", ".join(dict.fromkeys(f"{o.plugin} ({o.name})" for o in found))
        remedy = f"request a version that only one of them has ({asked.version_property}), or delete the others"
        if any(o.runtime == "Java" for o in found) and "." not in asked.name:
            remedy = "write the full name of the class that you mean"
        raise _refused(asked.type_property, f"{asked.name} is a class of several plugins, {whose}; {remedy}")
    if found:
        return canonicalize_name(found[0].plugin)
    if asked.place in before:
        last = before[asked.place]
        text = (
            f"no PluginVersion of this namespace offers {asked.name} any longer; create it again (version {last.version} "
            f"came from {last.name})"
        )
        raise _Missing(Problem(asked.type_property, text))
    return None


def _version(asked: Sequence[AskedPlugin], offers: _Mounts, kept: _ByPlace, own: PluginMount | None) -> PluginMount:
    """Return the version of a distribution for all these places: the current version, or the newest that they allow.

    Args:
        asked: the requests of the places.
        offers: all PluginVersions of the distribution.
        kept: see `resolve_plugins`.
        own: the offer of the connector. A Java class from the folder of a Java connector comes from there.
    """
    wanted = [(a, _range(a, offers)) for a in asked]
    present = [*{kept[a.place].name: kept[a.place] for a in asked if a.place in kept}.values()]
    allowed: list[list[PluginMount]] = []
    for a, versions in wanted:
        fitting = offering(a, offers)
        allowed.append([o for o in (*fitting, *offering(a, present)) if versions is None or o.version in versions])
        if not allowed[-1]:
            problem = Problem(a.version_property, not_found(a.name, versions, [o.version for o in fitting]))
            raise _Missing(problem) if (a.version or "").strip() else ConfigError(problem)
    common = [o for o in (*present, *offers) if all(o in some for some in allowed)]
    if not common:
        places = " and ".join(f"{a.place} (version {a.version or 'latest'})" for a in asked)
        raise _refused(
            asked[0].version_property,
            f"{places} are of the distribution "
            f"{offers[0].plugin}, but no version of it fits all of them, {there_are(o.version for o in offers)}; "
            f"{_ONE_VERSION}",
        )
    if common[0] in present:
        return common[0]
    common = _nearest(own, common)
    newest = choose_version([o.version for o in common], None)
    same = [o for o in common if Version(o.version) == Version(str(newest))]
    if any(_differ(o, same[0]) for o in same) and not _may_be_any(asked[0], same[0]):
        raise _refused(
            asked[0].version_property,
            f"version {newest} of {asked[0].name} is in several PluginVersions that differ, "
            f"{', '.join(o.name for o in same)}; delete all but one",
        )
    return same[0]


def _nearest(own: PluginMount | None, found: list[PluginMount]) -> list[PluginMount]:
    """Return the offers from the connector's folder, or else from its image, or else all."""
    if own is None or own.runtime != "Java":
        return found
    in_image = [o for o in found if o.image == own.image]
    folder = own.numbered(0, ()).folder
    return [o for o in in_image if o.numbered(0, ()).folder == folder] or in_image or found


def _differ(one: PluginMount, other: PluginMount) -> bool:
    """Return whether offers of one version differ in code. An image may contain a Java class in several folders."""
    if one.runtime == other.runtime == "Java":
        return one.image != other.image
    return one.model_copy(update={"name": other.name}) != other


def _may_be_any(asked: AskedPlugin, offer: PluginMount) -> bool:
    """Return whether any of the images with this version may be used.

    Images of Java plugins contain copies of the transforms and converters for their connectors. Two copies of a connector
    are a mistake, and a class without a version may be any code.
    """
    return offer.runtime == "Java" and asked.place != CONNECTOR and offer.version != _NO_VERSION


def _check_same_version(own: PluginMount, together: Sequence[AskedPlugin], offers: _Mounts) -> None:
    """Reject other versions of the connector's distribution (KIP-891 allows them)."""
    problems = []
    for a in together:
        if (versions := _range(a)) is not None and own.version not in versions:
            text = (
                f"{a.place} requests version {versions} of {own.plugin}, but the connector runs {own.version} of it; "
                f"{there_are(o.version for o in offering(a, [*offers, own]))}; {_ONE_VERSION}: here and in spec.version"
            )
            problems.append(Problem(a.version_property, text))
    if problems:
        raise ConfigError(problems)


def _range(asked: AskedPlugin, offers: _Mounts = ()) -> VersionRange | None:
    if "${" in (asked.version or ""):
        raise _refused(
            asked.version_property, "cannot contain variables, because no pod resolves it; write the version"
        )
    try:
        return VersionRange.requested(asked.version)
    except ValueError as e:
        text = f"{e}; {there_are(o.version for o in offers)}" if offers else str(e)
        raise _refused(asked.version_property, text) from e


def _of(name: str, offers: _Mounts) -> _Mounts:
    return [o for o in offers if canonicalize_name(o.plugin) == name]


def _refused(field: str, text: str) -> ConfigError:
    return ConfigError(Problem(field, text))
