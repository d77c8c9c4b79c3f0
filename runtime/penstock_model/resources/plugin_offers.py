"""Offers of PluginVersions: mounts that pods may have, and which of them contain a requested class. Pure.

The classes of Java plugins are those that a verifying pod has found and the status lists. Each has a separate version and
class loader, so it is offered as if it were a separate distribution.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from posixpath import normpath
from typing import Any, Final

from pydantic import ValidationError

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
from penstock_model.contracts.verification import FoundClass
from penstock_model.resources.plugin_version import PluginVersion, PluginVersionSpec

__all__ = [
    "KINDS",
    "NOT_INSPECTED",
    "class_names",
    "is_java",
    "is_unread",
    "offer_of",
    "offered",
    "offering",
    "offers_of",
    "unverified",
]

KINDS: Final[Mapping[str, PluginKind]] = {
    "source": "connector",
    "sink": "connector",
    "converter": "converter",
    "headerConverter": "headerConverter",
    "transform": "transform",
    "predicate": "predicate",
}
"""Kinds of plugins by the types in a PluginVersion."""
NOT_INSPECTED: Final = "no pod has inspected its image yet"
"""Cause for an unverified PluginVersion whose verification has neither ended nor encountered a problem."""


def offer_of(document: Mapping[str, Any]) -> PluginMount:
    """Return the declaration of a PluginVersion, as a pod's first mount.

    Raises:
        ConfigError: the PluginVersion cannot be used; contains all problems, by field.
    """
    found = PluginVersion.read({k: v for k, v in document.items() if k != "status"})
    spec = found.spec
    if spec.runtime == "Python" and (problems := [*_built_in_names(spec)]):
        raise ConfigError(problems)
    return PluginMount(
        name=found.metadata.name,
        plugin=spec.plugin or "",
        version=spec.version or "",
        image=spec.image,
        folder=normpath(f"{PLUGINS_DIR}/0/{normpath('/' + spec.path)}"),
        runtime=spec.runtime,
        classes=tuple(DeclaredClass(alias=c.alias, type=c.type, java_names=tuple(c.java_names)) for c in spec.classes),
    )


def offers_of(document: Mapping[str, Any]) -> tuple[PluginMount, ...]:
    """Return the offers of a PluginVersion, each as a pod's first mount; for Java plugins, one for each class in its status.

    Raises:
        ConfigError: see `offer_of`.
    """
    offer = offer_of(document)
    return (offer,) if offer.runtime == "Python" else tuple(_java_offers(offer, _published(document)))


def is_unread(document: Mapping[str, Any]) -> bool:
    """Return whether it has Java plugins whose classes a pod has yet to find."""
    status = document.get("status")
    if not is_java(document) or (isinstance(status, Mapping) and status.get("verifiedBy")):
        return False
    with suppress(ConfigError):
        return bool(offer_of(document))
    return False


def is_java(document: Mapping[str, Any]) -> bool:
    """Return whether it has Java plugins."""
    spec = document.get("spec")
    return isinstance(spec, Mapping) and spec.get("runtime") == "Java"


def _published(document: Mapping[str, Any]) -> list[FoundClass]:
    status = document.get("status")
    listed = status.get("classes") if isinstance(status, Mapping) else None
    found = []
    for entry in listed if isinstance(listed, list) else ():
        with suppress(ValidationError):
            found.append(FoundClass.model_validate(entry))
    return found


def _java_offers(image: PluginMount, classes: Sequence[FoundClass]) -> Iterator[PluginMount]:
    found: dict[tuple[str, str, str], list[DeclaredClass]] = {}
    for c in classes:
        outer = c.class_name.partition("$")[0]
        names = dict.fromkeys((c.class_name, outer))
        declared = DeclaredClass(alias=outer.rpartition(".")[2], type=c.type, java_names=tuple(names))
        for path in c.paths:
            found.setdefault((outer, c.version, normpath(f"{image.folder}/{path}")), []).append(declared)
    for (name, version, folder), declared_there in found.items():
        if folder == image.folder or folder.startswith(f"{image.folder}/"):
            known = {"plugin": name, "version": version, "folder": folder, "classes": tuple(declared_there)}
            yield image.model_copy(update=known)


def offered(documents: Iterable[Mapping[str, Any]]) -> tuple[PluginMount, ...]:
    """Return the offers of PluginVersions, sorted by name. Unusable ones are omitted; their status has the cause."""
    found: list[PluginMount] = []
    for document in documents:
        with suppress(ConfigError):
            found += offers_of(document)
    return tuple(sorted(found, key=lambda o: o.name))


def unverified(documents: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return, by name, why PluginVersions are unverified: no pod has inspected their images successfully.

    Reasons that alternate while an image cannot be pulled are reported as one, so that the message of a status is stable.
    """
    found: dict[str, str] = {}
    for document in documents:
        status = document.get("status")
        listed = status.get("conditions") if isinstance(status, Mapping) else None
        conditions = {str(c.get("type")): c for c in listed or () if isinstance(c, Mapping)}
        ready = conditions.get("Ready", {})
        if ready.get("status") == "True":
            continue
        reason, why = str(ready.get("reason") or ""), NOT_INSPECTED
        if conditions.get("Stalled", {}).get("status") == "True":
            why = str(ready.get("message") or reason)
        elif reason not in ("", "Verifying"):
            why = "ImagePullBackOff" if reason == "ErrImagePull" else reason
        found[document["metadata"]["name"]] = why
    return found


def class_names(document: Mapping[str, Any]) -> frozenset[str]:
    """Return all names with which a configuration may refer to a class of a PluginVersion. Its spec may have any form."""
    if is_java(document):
        outer = {c.class_name.partition("$")[0] for c in _published(document)}
        return frozenset((*outer, *(n for name in outer for n in _names(name.rpartition(".")[2]))))
    spec = document.get("spec")
    declared = spec.get("classes") if isinstance(spec, Mapping) else None
    found = set[str]()
    for c in declared if isinstance(declared, list) else ():
        if isinstance(c, Mapping):
            alias, java = str(c.get("alias", "")), c.get("javaNames")
            found |= {*_names(alias)}
            found |= {str(n) for n in java} if isinstance(java, list) else set()
    return frozenset(found)


def offering(asked: AskedPlugin, offers: Sequence[PluginMount]) -> list[PluginMount]:
    """Return the offers with a class of that kind to which the name may refer."""
    possible = aliases(asked.name, ENDINGS[asked.kind], of_connector=asked.kind == "connector")
    kinds = kinds_of_one_name(asked.kind)
    return [
        o
        for o in offers
        if any(KINDS[c.type] in kinds and (c.alias in possible or asked.name in c.java_names) for c in o.classes)
    ]


def _names(alias: str) -> Iterator[str]:
    yield from (alias, alias + CONNECTOR_ENDING)
    yield from (alias.removesuffix(ending) for endings in ENDINGS.values() for ending in endings)


def _built_in_names(spec: PluginVersionSpec) -> Iterator[Problem]:
    """Yield a problem for each class with the name of a built-in plugin, whose version is that of the release."""
    for number, declared in enumerate(spec.classes):
        for field, name in (("alias", declared.alias), *(("javaNames", n) for n in declared.java_names)):
            if is_built_in(KINDS[declared.type], name):
                kind = "connector" if declared.type in ("source", "sink") else declared.type
                yield Problem(
                    f"spec.classes.{number}.{field}",
                    f"{name} is the name of a built-in {kind}; choose another name for the class",
                )
