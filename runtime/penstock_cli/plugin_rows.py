"""Rows of `penstock plugins`: one for each version of a plugin (KIP-891, `GET /connector-plugins`). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock import ConfigError, Connector, Plugin, Problem, SourceConnector
from penstock_model.connect.version_messages import newest_first, not_found, there_are
from penstock_model.connect.versions import Version, VersionRange
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources import plugin_offers
from penstock_runtime.java_plugins.catalog import JavaPlugin
from penstock_runtime.plugins.discovery import PluginRef
from penstock_runtime.plugins.plugin_ref import kind_name

__all__ = ["Row", "kind_of", "offers_of", "rows", "within"]


@dataclass(frozen=True, slots=True)
class Row:
    """One version of one plugin.

    Attributes:
        alias, kind, version: of the plugin.
        java_names: Kafka Connect classes that it replaces.
        ref: the plugin, if it is installed here.
        offer: the PluginVersion that has it, if it is not installed here.
        java: the Java class, if it is from the plugin path.
        versions: all versions of this plugin, the latest first; the latest runs if no version is configured.
    """

    alias: str
    kind: str
    version: str
    java_names: tuple[str, ...]
    ref: PluginRef[Plugin] | None = None
    offer: PluginMount | None = None
    java: JavaPlugin | None = None
    versions: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """Return the name under which a PluginVersion publishes its configuration, if one has it."""
        is_java = self.offer is not None and self.offer.runtime == "Java"
        return self.java_names[0] if is_java else self.alias

    def is_named(self, name: str) -> bool:
        """Return whether a name means this plugin: an alias, a class's path, or a Java name, with or without a variant."""
        plain = name.partition("$")[0]
        own = [self.ref.reference] if self.ref is not None else []
        java = [self.java.class_name] if self.java is not None else []
        return plain in (self.alias, *own, *java, *self.java_names)


def kind_of(ref: PluginRef[Plugin]) -> str:
    """Return the kind of a plugin as one word, such as `source`."""
    if issubclass(ref.cls, Connector):
        return "source" if issubclass(ref.cls, SourceConnector) else "sink"
    return kind_name(ref.cls).lower()


def offers_of(documents: Iterable[Mapping[str, Any]]) -> tuple[list[PluginMount], list[Problem]]:
    """Return the offers of PluginVersions, and the problems of those that offer nothing.

    Raises:
        ConfigError: they are from several namespaces, which do not share versions.
    """
    offers: list[PluginMount] = []
    problems: list[Problem] = []
    namespaces = set[str]()
    for document in documents:
        metadata = document.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        namespaces.add(str(metadata.get("namespace", "")))
        try:
            offers += plugin_offers.offers_of(document)
        except ConfigError as e:
            name = metadata.get("name") or "without a name"
            problems += (Problem(f"PluginVersion {name}: {p.property}", p.message) for p in e.problems)
    if len(namespaces) > 1:
        raise ConfigError(
            f"cannot list PluginVersions of several namespaces ({', '.join(sorted(namespaces))}): a Connector uses "
            "only those of its own namespace; pass those of one namespace"
        )
    return offers, problems


def rows(
    refs: Sequence[PluginRef[Plugin]], offers: Sequence[PluginMount], java: Sequence[JavaPlugin] = ()
) -> list[Row]:
    """Return a row for each version, sorted by kind, name and version, so that the default version is last.

    An installed plugin that a PluginVersion offers has no row: the runtime's image is never searched for its class.
    """
    found = [Row(c.alias, c.type.lower(), o.version, c.java_names, offer=o) for o in offers for c in o.classes]
    offered = {(r.alias, r.kind) for r in found}
    installed = (Row(r.alias, kind_of(r), r.version, tuple(r.cls.java_names), ref=r) for r in refs)
    found += (r for r in installed if (r.alias, r.kind) not in offered)
    found += (Row(p.simple_name, p.kind, p.version, (), java=p) for p in java)
    found.sort(key=lambda r: (r.kind, r.alias, Version(r.version)))
    versions: dict[tuple[str, str], list[str]] = {}
    for row in found:
        versions.setdefault((row.kind, row.alias), []).append(row.version)
    return [replace(r, versions=newest_first(versions[r.kind, r.alias])) for r in found]


def within(found: Sequence[Row], version: str, name: str | None) -> list[Row]:
    """Return the rows of this version, or of a range of versions.

    Args:
        found: rows.
        version: version or range, as in `spec.version`.
        name: name of the plugin, for messages.

    Raises:
        ConfigError: no row matches, or the version is invalid.
    """
    try:
        wanted = VersionRange.requested(version)
    except ValueError as e:
        raise ConfigError(Problem("--version", str(e))) from None
    if wanted is None:
        return [r for r in found if r.version == r.versions[0]]
    if matching := [r for r in found if r.version in wanted]:
        return matching
    there = (v for r in found for v in r.versions)
    if name is None:
        raise ConfigError(f"cannot find a plugin in the version range {wanted}; {there_are(there)}")
    raise ConfigError(not_found(name, wanted, there))
