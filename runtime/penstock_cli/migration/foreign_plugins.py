"""Plugins of a connector that Penstock does not have, and how to provide them. Pure, but for loading plugins."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock import Connector, Converter, HeaderConverter, Plugin, Predicate, Transform
from penstock.errors import ConfigError
from penstock_cli.migration.connect_cluster import Artifact, PluginImage
from penstock_cli.migration.known_plugins import KnownPlugin, KnownPlugins
from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.connect.plugin_names import PluginKind
from penstock_model.resources.base import API_VERSION
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.java_origins import maven_artifact, maven_file, origin
from penstock_runtime.plugins.java_projects import DEBEZIUM, project_of

__all__ = ["PART_OF", "Archive", "archives", "built_archives", "foreign_plugins", "plugin_version"]

_KINDS: Final[Mapping[PluginKind, type[Plugin]]] = {
    "connector": Connector,
    "converter": Converter,
    "headerConverter": HeaderConverter,
    "transform": Transform,
    "predicate": Predicate,
}
_DIGEST: Final = re.compile(r"[^@\s]+@sha256:([0-9a-f]{64})")
_ENDINGS: Final = {"tgz": ".tar.gz", "zip": ".zip", "jar": ".jar"}
_DEBEZIUM: Final = "io.debezium.connector."
PART_OF: Final = "app.kubernetes.io/part-of"
"""Label for selecting only PluginVersions in `kubectl apply`."""


@dataclass(frozen=True)
class Archive:
    """Content of a plugin image to build.

    Attributes:
        name: name of the plugin, for files and images.
        version: its version; empty if unknown.
        classes: classes that are needed from it.
        files: URLs with SHA-512, which may be empty; if there are none, `source` says where it comes from.
        source: description of its origin.
    """

    name: str
    version: str
    classes: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    source: str = ""


def foreign_plugins(
    class_name: str, version: str | None, config: Mapping[str, str], known: KnownPlugins
) -> tuple[KnownPlugin, ...]:
    """Return a connector's plugins that Penstock does not have, with their version in Kafka Connect or the configuration."""
    own = Plugins(e for e in Plugins.installed().entries if not e.java_name)
    found = []
    for asked in asked_plugins(class_name, version, config, {}):
        name = known.full_name(asked.kind, asked.name)
        if not _has(own, asked.kind, name):
            exact = asked.version if asked.version and not re.search(r"[\[\](),]", asked.version) else ""
            found.append(KnownPlugin(name, asked.kind, exact or known.version(name)))
    return tuple(dict.fromkeys(found))


def _has(own: Plugins, kind: PluginKind, name: str) -> bool:
    try:
        own.find(_KINDS[kind], name)
    except ConfigError as e:
        return not any("could not be found" in p.message for p in e.problems)
    return True


def plugin_version(image: PluginImage, digests: Mapping[str, str], namespace: str | None) -> dict[str, Any] | None:
    """Return the PluginVersion of an image; None if only its tag is known, which can be moved to another image.

    Args:
        image: image in a KafkaConnect.
        digests: known references by digest; the keys are the references in the KafkaConnect.
        namespace: namespace of the Connectors.
    """
    reference = digests.get(image.reference, image.reference)
    if (by_digest := _DIGEST.fullmatch(reference)) is None:
        return None
    metadata: dict[str, Any] = {"name": f"{image.name}-{by_digest[1][:8]}", "labels": {PART_OF: image.name}}
    if namespace is not None:
        metadata = {"name": metadata["name"], "namespace": namespace, "labels": metadata["labels"]}
    spec = {"runtime": "Java", "image": reference, "path": image.path}
    return {"apiVersion": API_VERSION, "kind": "PluginVersion", "metadata": metadata, "spec": spec}


def built_archives(artifacts: Iterable[Artifact]) -> list[Archive]:
    """Return the plugins that Strimzi's build adds to its image, one archive each."""
    by_plugin: dict[str, list[Artifact]] = {}
    for artifact in artifacts:
        by_plugin.setdefault(artifact.plugin, []).append(artifact)
    found = []
    for name, of_plugin in by_plugin.items():
        files = tuple((a.place, a.sha512) for a in of_plugin if a.kind in _ENDINGS)
        others = [a.place for a in of_plugin if a.kind not in _ENDINGS]
        maven = [a.place for a in of_plugin if a.kind == "maven"]
        source = f"{', '.join(others)}{' with all dependencies' if maven else ''}" if others else ""
        found.append(Archive(name, "", (), files, source))
    return found


def archives(needed: Iterable[KnownPlugin]) -> list[Archive]:
    """Return the archives with these classes, each archive once."""
    classes: dict[Archive, list[str]] = {}
    for plugin in sorted(dict.fromkeys(needed), key=lambda p: _is_of_any_debezium(p.class_name)):
        name, version = plugin.class_name, plugin.version
        url = maven_file(name, version) if version else ""
        if _is_of_any_debezium(name) and (same := [a for a, n in classes.items() if _has_debezium(a, n, version)]):
            archive = same[0]
        elif url:
            archive = Archive(maven_artifact(name), version, files=((url, ""),))
        else:
            archive = Archive(maven_artifact(name) or _of_package(name), version, source=origin(name))
        found = classes.setdefault(archive, [])
        if name not in found:
            found.append(name)
    return [Archive(a.name, a.version, tuple(names), a.files, a.source) for a, names in classes.items()]


def _is_of_any_debezium(class_name: str) -> bool:
    """Return whether a class is part of every Debezium connector's archive, as Debezium's transforms are."""
    project = project_of(class_name)
    return project is not None and project.name == DEBEZIUM


def _has_debezium(archive: Archive, classes: Iterable[str], version: str) -> bool:
    """Return whether an archive has a Debezium connector, in this version if both versions are known."""
    is_debezium = any(name.startswith(_DEBEZIUM) for name in classes)
    return is_debezium and (archive.version == version or not archive.version or not version)


def _of_package(class_name: str) -> str:
    """Return a plugin name for a class: that of its archive, or of the package that the classes of a distribution share."""
    project = project_of(class_name)
    if project is not None and project.artifact:
        return project.artifact
    parts = class_name.split(".")[:-1]
    length = 4 if parts[:2] == ["io", "confluent"] else 3 if parts[:1] == ["org"] or parts[1:2] == ["github"] else 2
    return "-".join(parts[:length]) or class_name
