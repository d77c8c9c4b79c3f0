"""Find the configuration definitions of the plugins that a Connector requires. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import Problem
from penstock_model.connect.built_in_definitions import built_in_definitions
from penstock_model.connect.plugin_chain import AskedPlugin
from penstock_model.connect.plugin_names import ENDINGS, aliases, is_built_in, kinds_of_one_name
from penstock_model.connect.version_messages import not_found
from penstock_model.connect.versions import VersionRange
from penstock_model.contracts.definitions import ClassDefinition, Definitions
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import KINDS
from penstock_model.resources.version_selection import resolve_plugins
from penstock_model.validation.misspelt_classes import misspelt, similar
from penstock_model.validation.unknown_properties import Unknown

__all__ = ["KnownPlugins", "find_definitions", "version_problems"]


@dataclass(frozen=True, slots=True)
class KnownPlugins:
    """Definitions of the plugins of a Connector.

    Attributes:
        definitions: the known definitions, by place (`connector`, `transforms.hoist`).
        other_versions: places that request another version, whose properties may differ (Connect's rule).
        warnings: why other definitions are unknown, and versions that do not exist.
        misspelt: unavailable classes whose names are probably misspellings of plugin names.
    """

    definitions: Mapping[str, ClassDefinition] = field(default_factory=dict)
    other_versions: frozenset[str] = frozenset()
    warnings: tuple[Problem, ...] = ()
    misspelt: tuple[Unknown, ...] = ()


def version_problems(asked: Iterable[AskedPlugin]) -> list[Problem]:
    """Return a problem for each version range that cannot be parsed."""
    problems = []
    for a in asked:
        if a.from_worker:
            continue
        if "${" in (a.version or ""):
            text = "cannot contain variables, because versions are resolved before any pod; write the version"
            problems.append(Problem(a.version_property, text))
            continue
        try:
            VersionRange.requested(a.version)
        except ValueError as e:
            problems.append(Problem(a.version_property, str(e)))
    return problems


def find_definitions(
    asked: Iterable[AskedPlugin],
    offers: Iterable[PluginMount] | None,
    published: Callable[[str], Definitions | None],
    release: str,
    written: Mapping[str, str],
    unverified: Collection[str] = (),
    unread: Sequence[str] = (),
) -> KnownPlugins:
    """Return the definitions of the plugins in the versions that a Connector would run if it were planned now.

    Args:
        asked: required plugins, without unreadable version ranges.
        offers: offers of the PluginVersions of the namespace; None: they could not be read, and their plugins are not
            checked.
        published: returns the definitions that a PluginVersion has published, or None.
        release: version of the built-in plugins.
        written: names of the classes by place, with `$Key` or `$Value`.
        unverified: names of the PluginVersions that have not been verified.
        unread: names of the PluginVersions whose Java classes no pod has found yet.
    """
    if offers is None:
        asked, offers = [a for a in asked if is_built_in(a.kind, a.name)], ()
    asked, offers = list(asked), list(offers)
    resolved = resolve_plugins([a for a in asked if not is_built_in(a.kind, a.name)], offers)
    warnings = [p for p in resolved.problems if not p.property.startswith("worker configuration")]
    mounts = {place: mount for mount in resolved.mounts for place in mount.places}
    found: dict[str, ClassDefinition] = {}
    other_versions: set[str] = set()
    slips: list[Unknown] = []
    reported = {p.property for p in warnings}
    for a in asked:
        if is_built_in(a.kind, a.name):
            definition = _of(a, built_in_definitions(release), release, written)
            versions = VersionRange.requested(a.version)
            if versions is not None and release not in versions:
                other_versions.add(a.place)
                warnings.append(Problem(a.version_property, not_found(a.name, versions, [release])))
        elif (mount := mounts.get(a.place)) is not None:
            there = published(mount.name)
            definition = None if there is None else _of(a, there, mount.version, written)
            if definition is None and not a.from_worker:
                text = (
                    f"PluginVersion {mount.name} offers {a.name} but is not verified yet, so its properties are not checked"
                    if mount.name in unverified
                    else f"the properties of {a.name} are not checked yet: PluginVersion {mount.name} has not published "
                    "its configuration definitions"
                )
                warnings.append(Problem(a.type_property, text))
        else:
            definition = None
            if not reported & {a.type_property, a.version_property} and not a.from_worker:
                if unread:
                    warnings.append(Problem(a.type_property, _unread(a, unread)))
                elif near := misspelt(a, offers):
                    slips.append(Unknown(Problem(a.type_property, _misspelt(a, near)), is_similar=True))
                else:
                    warnings.append(Problem(a.type_property, _not_offered(a, similar(a, offers))))
        if definition is not None:
            found[a.place] = definition
    return KnownPlugins(found, frozenset(other_versions), tuple(warnings), tuple(slips))


def _not_offered(asked: AskedPlugin, near: str | None) -> str:
    hint = f"did you mean {near}? If not, create" if near else "create"
    return (
        f"no PluginVersion of this namespace offers {asked.name}, and it is not built in; {hint} the PluginVersion, "
        "unless the runtime image contains the class"
    )


def _misspelt(asked: AskedPlugin, near: str) -> str:
    """Return a message that begins like that of the plan, and states the remedy if the name is correct."""
    return (
        f"Invalid value {asked.name} for configuration {asked.type_property}: Class {asked.name} could not be found. "
        f"Did you mean {near}? If not, create the PluginVersion that offers {asked.name} first"
    )


def _unread(asked: AskedPlugin, unread: Sequence[str]) -> str:
    named = ", ".join(unread)
    return (
        f"{asked.name} is not checked yet: it is not built in, but may be in PluginVersion {named}, "
        f"whose Java classes are unknown until {'they are' if len(unread) > 1 else 'it is'} verified"
    )


def _of(
    asked: AskedPlugin, definitions: Definitions, version: str, written: Mapping[str, str]
) -> ClassDefinition | None:
    possible = aliases(asked.name, ENDINGS[asked.kind], of_connector=asked.kind == "connector")
    kinds = kinds_of_one_name(asked.kind)

    def is_named(c: ClassDefinition) -> bool:
        outer = c.class_name.partition("$")[0]
        names = {outer, outer.rpartition(".")[2]}
        return bool(names & possible) or asked.name in c.java_names

    there = [c for c in definitions.classes if KINDS[c.type] in kinds and c.version == version and is_named(c)]
    # A nested class of Java is a separate plugin. A converter may have the same name as a header converter.
    there.sort(key=lambda c: (c.class_name != written.get(asked.place), KINDS[c.type] != asked.kind))
    return there[0] if there else None
