"""Which of the PluginVersions on offer fits a class and a range (KIP-891, "Specifying versions in configurations"). Pure.

A class that no PluginVersion offers is the runtime's own: a built-in one, or one of the runtime's image.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from posixpath import normpath
from typing import Any, Final, NamedTuple

from packaging.utils import canonicalize_name

from penstock.errors import ConfigError, Problem
from penstock_java.property_text import trimmed
from penstock_model.connect.plugin_names import CONNECTOR_ENDING, aliases, is_built_in_connector
from penstock_model.connect.versions import Version, VersionRange, choose_version
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.contracts.pod_layout import PLUGINS_DIR
from penstock_model.resources.plugin_version import PluginClass, PluginVersion, PluginVersionSpec

__all__ = [
    "PluginOffer",
    "ResolvedPlugin",
    "class_names",
    "mount_of",
    "offer_of",
    "offered",
    "resolve_connector",
]

_CONNECTORS: Final = ("source", "sink")


class PluginOffer(NamedTuple):
    """What a PluginVersion offers."""

    name: str
    spec: PluginVersionSpec


@dataclass(frozen=True, slots=True)
class ResolvedPlugin:
    """What the class and the version of a connector come to.

    Attributes:
        offer: the PluginVersion that it runs; None: the plugin is the runtime's own, or there is a problem.
        problems: why none can be chosen.
        is_missing: what is wrong is that a PluginVersion is not there, which may still come.
    """

    offer: PluginOffer | None = None
    problems: tuple[Problem, ...] = ()
    is_missing: bool = False


def offer_of(document: Mapping[str, Any]) -> PluginOffer:
    """What a PluginVersion offers.

    Raises:
        ConfigError: it cannot be used; every problem, by field.
    """
    found = PluginVersion.read({k: v for k, v in document.items() if k != "status"})
    if problems := [*_built_in_names(found.spec)]:
        raise ConfigError(problems)
    return PluginOffer(found.metadata.name, found.spec)


def offered(documents: Iterable[Mapping[str, Any]]) -> tuple[PluginOffer, ...]:
    """What these PluginVersions offer, by name. One that cannot be used offers nothing; its own status says why."""
    found: list[PluginOffer] = []
    for document in documents:
        with suppress(ConfigError):
            found.append(offer_of(document))
    return tuple(sorted(found, key=lambda o: o.name))


def class_names(spec: object) -> frozenset[str]:
    """All texts of `spec.class` that may mean a class of a PluginVersion, whose spec may be of any form."""
    declared = spec.get("classes") if isinstance(spec, Mapping) else None
    found = set[str]()
    for c in declared if isinstance(declared, list) else ():
        if isinstance(c, Mapping):
            alias, java = str(c.get("alias", "")), c.get("javaNames")
            found |= {alias, alias + CONNECTOR_ENDING, alias.removesuffix(CONNECTOR_ENDING)}
            found |= {str(n) for n in java} if isinstance(java, list) else set()
    return frozenset(found)


def resolve_connector(class_name: str, version: str | None, offers: Sequence[PluginOffer]) -> ResolvedPlugin:
    """The PluginVersion that a connector is to run, by its class and version alone.

    Args:
        class_name: `spec.class`.
        version: `spec.version`: Maven's range; None and `latest` are the newest.
        offers: what there is.
    """
    name = trimmed(class_name)
    fitting = _offering(name, offers)
    if not fitting:
        return ResolvedPlugin()
    if len({canonicalize_name(o.spec.plugin) for o in fitting}) > 1:
        whose = ", ".join(f"{o.spec.plugin} ({o.name})" for o in fitting)
        return _refused(
            "spec.class", f"{name} is a class of several plugins, {whose}; delete the PluginVersions of all but one"
        )
    try:
        wanted = VersionRange.requested(version)
    except ValueError as e:
        return _refused("spec.version", str(e))
    chosen = choose_version([o.spec.version for o in fitting], wanted)
    if chosen is None:
        versions = ", ".join(sorted({o.spec.version for o in fitting}, key=Version))
        text = f"Plugin {name} not found that matches the version range {wanted}, available versions: [{versions}]"
        return ResolvedPlugin(problems=(Problem("spec.version", text),), is_missing=bool((version or "").strip()))
    same = [o for o in fitting if Version(o.spec.version) == Version(chosen)]
    if any(o.spec != same[0].spec for o in same):
        names = ", ".join(o.name for o in same)
        text = f"version {chosen} of {name} is that of several PluginVersions that differ, {names}; delete all but one"
        return _refused("spec.version", text)
    return ResolvedPlugin(same[0])


def mount_of(offer: PluginOffer, number: int) -> PluginMount:
    """The image of a PluginVersion as the pods' mount of this number."""
    spec = offer.spec
    folder = normpath(f"{PLUGINS_DIR}/{number}/{normpath('/' + spec.path)}")
    return PluginMount(
        name=offer.name,
        plugin=spec.plugin,
        version=spec.version,
        image=spec.image,
        folder=folder,
        classes=tuple(DeclaredClass(alias=c.alias, type=c.type, java_names=tuple(c.java_names)) for c in spec.classes),
    )


def _built_in_names(spec: PluginVersionSpec) -> Iterator[Problem]:
    """A problem for each class that bears the name of a built-in connector, which has the release's version."""
    for number, declared in enumerate(spec.classes):
        for field, name in (("alias", declared.alias), *(("javaNames", n) for n in declared.java_names)):
            if is_built_in_connector(name):
                yield Problem(
                    f"spec.classes.{number}.{field}",
                    f"{name} is the name of a connector that Penstock brings; give the class a name of its own",
                )


def _offering(name: str, offers: Sequence[PluginOffer]) -> list[PluginOffer]:
    """Those with a connector of that name. A class whose very alias it is precedes those that it may mean otherwise."""

    def named(*possible: str) -> list[PluginOffer]:
        return [o for o in offers if any(c.alias in possible for c in _connectors(o.spec))]

    if exact := named(name):
        return exact
    if found := named(*aliases(name, (CONNECTOR_ENDING,), of_connector=True)):
        return found
    return [o for o in offers if any(name in c.java_names for c in _connectors(o.spec))]


def _connectors(spec: PluginVersionSpec) -> Iterator[PluginClass]:
    return (c for c in spec.classes if c.type in _CONNECTORS)


def _refused(field: str, text: str) -> ResolvedPlugin:
    return ResolvedPlugin(problems=(Problem(field, text),))
