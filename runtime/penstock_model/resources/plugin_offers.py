"""What PluginVersions offer: mounts that pods may have, and which of them hold the class that is asked for. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from posixpath import normpath
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.connect.plugin_chain import AskedPlugin
from penstock_model.connect.plugin_names import (
    CONNECTOR_ENDING,
    ENDINGS,
    PluginKind,
    aliases,
    is_built_in,
    kinds_of_one_name,
)
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.contracts.pod_layout import PLUGINS_DIR
from penstock_model.resources.plugin_version import PluginVersion, PluginVersionSpec

__all__ = ["class_names", "offer_of", "offered", "offering"]

_KINDS: Final[Mapping[str, PluginKind]] = {
    "source": "connector",
    "sink": "connector",
    "converter": "converter",
    "headerConverter": "headerConverter",
    "transform": "transform",
    "predicate": "predicate",
}


def offer_of(document: Mapping[str, Any]) -> PluginMount:
    """What a PluginVersion offers, as a pod's first mount.

    Raises:
        ConfigError: it cannot be used; every problem, by field.
    """
    found = PluginVersion.read({k: v for k, v in document.items() if k != "status"})
    spec = found.spec
    if problems := [*_built_in_names(spec)]:
        raise ConfigError(problems)
    return PluginMount(
        name=found.metadata.name,
        plugin=spec.plugin,
        version=spec.version,
        image=spec.image,
        folder=normpath(f"{PLUGINS_DIR}/0/{normpath('/' + spec.path)}"),
        classes=tuple(DeclaredClass(alias=c.alias, type=c.type, java_names=tuple(c.java_names)) for c in spec.classes),
    )


def offered(documents: Iterable[Mapping[str, Any]]) -> tuple[PluginMount, ...]:
    """What these PluginVersions offer, by name. One that cannot be used offers nothing; its own status says why."""
    found: list[PluginMount] = []
    for document in documents:
        with suppress(ConfigError):
            found.append(offer_of(document))
    return tuple(sorted(found, key=lambda o: o.name))


def class_names(spec: object) -> frozenset[str]:
    """All texts by which a configuration may mean a class of a PluginVersion, whose spec may be of any form."""
    declared = spec.get("classes") if isinstance(spec, Mapping) else None
    found = set[str]()
    for c in declared if isinstance(declared, list) else ():
        if isinstance(c, Mapping):
            alias, java = str(c.get("alias", "")), c.get("javaNames")
            found |= {alias, alias + CONNECTOR_ENDING, *_shortened(alias)}
            found |= {str(n) for n in java} if isinstance(java, list) else set()
    return frozenset(found)


def offering(asked: AskedPlugin, offers: Sequence[PluginMount]) -> list[PluginMount]:
    """Those that hold a class of that kind which the name may mean."""
    possible = aliases(asked.name, ENDINGS[asked.kind], of_connector=asked.kind == "connector")
    kinds = kinds_of_one_name(asked.kind)
    return [
        o
        for o in offers
        if any(_KINDS[c.type] in kinds and (c.alias in possible or asked.name in c.java_names) for c in o.classes)
    ]


def _shortened(alias: str) -> Iterator[str]:
    return (alias.removesuffix(ending) for endings in ENDINGS.values() for ending in endings)


def _built_in_names(spec: PluginVersionSpec) -> Iterator[Problem]:
    """A problem for each class that bears the name of a built-in plugin, which has the release's version."""
    for number, declared in enumerate(spec.classes):
        for field, name in (("alias", declared.alias), *(("javaNames", n) for n in declared.java_names)):
            if is_built_in(_KINDS[declared.type], name):
                kind = "connector" if declared.type in ("source", "sink") else declared.type
                yield Problem(
                    f"spec.classes.{number}.{field}",
                    f"{name} is the name of a {kind} that Penstock brings; give the class a name of its own",
                )
