"""Reader of Strimzi's `KafkaConnect`: worker of its KafkaConnectors, and source of their plugins. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock_cli.migration.known_plugins import KnownPlugin, known_plugins
from penstock_model.resources.values import text_of

__all__ = [
    "LABELS",
    "PLUGINS",
    "Artifact",
    "ConnectCluster",
    "PluginImage",
    "RunningImage",
    "connect_cluster",
    "running_image",
]

LABELS: Final = {"kafka.strimzi.io": "strimzi.io", "eventstreams.ibm.com": "eventstreams.ibm.com"}
"""Prefixes of labels and annotations, by API group: Strimzi's, which Red Hat uses too, and IBM's."""
PLUGINS: Final = "/opt/kafka/plugins"
"""The `plugin.path` of Strimzi's images: below it, a folder for each plugin with a folder for each of its artifacts."""
_DEFAULTS: Final = {
    "group.id": "connect-cluster",
    "offset.storage.topic": "connect-cluster-offsets",
    "config.storage.topic": "connect-cluster-configs",
    "status.storage.topic": "connect-cluster-status",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
"""Values that Strimzi's operator sets if `spec.config` does not."""
_OF_V1: Final = {
    "groupId": "group.id",
    "offsetStorageTopic": "offset.storage.topic",
    "configStorageTopic": "config.storage.topic",
    "statusStorageTopic": "status.storage.topic",
}
"""Fields of kafka.strimzi.io/v1 for properties that v1beta2 has in `spec.config`."""
_READ: Final = (
    "replicas",
    "bootstrapServers",
    "tls",
    "authentication",
    "config",
    "image",
    "build",
    "plugins",
    "version",
    *_OF_V1,
)
_SASL: Final = {"scram-sha-512": "SCRAM-SHA-512", "scram-sha-256": "SCRAM-SHA-256", "plain": "PLAIN"}


@dataclass(frozen=True)
class Artifact:
    """File that Strimzi's build downloads.

    Attributes:
        plugin: name of its plugin.
        kind: `tgz`, `zip`, `jar`, `maven` or `other`.
        place: its URL, or its Maven coordinates.
        sha512: its checksum; empty if there is none.
    """

    plugin: str
    kind: str
    place: str
    sha512: str = ""


@dataclass(frozen=True)
class PluginImage:
    """Image with Java plugins.

    Attributes:
        name: prefix of the names of its PluginVersions.
        reference: reference by tag or by digest; empty if it is known only from the pods that run it.
        path: folder of the plugins in it.
    """

    name: str
    reference: str
    path: str


@dataclass(frozen=True)
class ConnectCluster:
    """Strimzi's `KafkaConnect`.

    Attributes:
        properties: properties of its worker.
        clients: connection settings of its Kafka clients, as readable lines without secrets.
        images: images with its plugins.
        artifacts: files that its build adds to the image.
        plugins: classes that its status lists.
        left_out: fields of `spec` that have no equivalent.
        bootstrap_servers: addresses of its Kafka.
    """

    name: str
    namespace: str | None
    properties: Mapping[str, str]
    clients: tuple[str, ...] = ()
    images: tuple[PluginImage, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    plugins: tuple[KnownPlugin, ...] = ()
    left_out: tuple[str, ...] = ()
    bootstrap_servers: str = ""


@dataclass(frozen=True)
class RunningImage:
    """Image that a pod of a `KafkaConnect` runs, by digest."""

    cluster: str
    namespace: str | None
    image: str


def connect_cluster(metadata: Mapping[str, Any], spec: Mapping[str, Any], status: object, group: str) -> ConnectCluster:
    """Read a `KafkaConnect` of kafka.strimzi.io/v1beta2 or v1, or of eventstreams.ibm.com, whose defaults are unknown."""
    name, namespace = str(metadata.get("name")), metadata.get("namespace")
    own = {str(n): text_of(t) for n, t in _map(spec.get("config")).items() if isinstance(t, str | int | float)}
    defaults = _DEFAULTS if group == "kafka.strimzi.io" else {}
    own |= {prop: text_of(spec[field]) for field, prop in _OF_V1.items() if spec.get(field) is not None}
    return ConnectCluster(
        name,
        namespace if isinstance(namespace, str) else None,
        {**defaults, **own},
        tuple(_clients(spec)),
        tuple(_images(name, spec)),
        tuple(_artifacts(spec)),
        known_plugins(_map(status).get("connectorPlugins")),
        tuple(field for field in spec if field not in _READ),
        str(spec.get("bootstrapServers") or ""),
    )


def running_image(pod: Mapping[str, Any]) -> RunningImage | None:
    """Return the image of a pod of a `KafkaConnect`; None for other pods, and for an image that is not in a registry."""
    metadata = _map(pod.get("metadata"))
    labels = _map(metadata.get("labels"))
    prefix = next((p for p in LABELS.values() if labels.get(f"{p}/kind") == "KafkaConnect"), None)
    cluster = labels.get(f"{prefix}/cluster")
    if not isinstance(cluster, str):
        return None
    for container in _maps(_map(pod.get("status")).get("containerStatuses")):
        image = str(container.get("imageID", "")).rpartition("://")[2]
        if container.get("name") == f"{cluster}-connect" and "@sha256:" in image:
            namespace = metadata.get("namespace")
            return RunningImage(cluster, namespace if isinstance(namespace, str) else None, image)
    return None


def _images(name: str, spec: Mapping[str, Any]) -> Iterator[PluginImage]:
    output = _map(_map(spec.get("build")).get("output"))
    if output:  # spec.image is the base image of the build
        is_stream = output.get("type") == "imagestream"  # of OpenShift, which is in a registry under another name
        yield PluginImage(name, "" if is_stream else str(output.get("image") or ""), PLUGINS)
    elif isinstance(spec.get("image"), str):
        yield PluginImage(name, spec["image"], PLUGINS)
    for plugin in _maps(spec.get("plugins")):
        for artifact in _maps(plugin.get("artifacts")):
            if isinstance(reference := artifact.get("reference"), str):
                yield PluginImage(str(plugin.get("name")), reference, "/")


def _artifacts(spec: Mapping[str, Any]) -> Iterator[Artifact]:
    for plugin in _maps(_map(spec.get("build")).get("plugins")):
        for artifact in _maps(plugin.get("artifacts")):
            kind = str(artifact.get("type"))
            place = artifact.get("url")
            if kind == "maven":
                place = ":".join(str(artifact.get(part)) for part in ("group", "artifact", "version"))
            yield Artifact(str(plugin.get("name")), kind, str(place), str(artifact.get("sha512sum") or ""))


def _clients(spec: Mapping[str, Any]) -> Iterator[str]:
    tls, authentication = spec.get("tls"), _map(spec.get("authentication"))
    kind = str(authentication.get("type") or "")
    yield f"bootstrap.servers: {spec.get('bootstrapServers')}"
    secured = "SSL" if isinstance(tls, Mapping) else "PLAINTEXT"
    if kind in _SASL:
        yield f"security.protocol: SASL_{secured}"
        yield f"sasl.mechanism: {_SASL[kind]}"
        secret = _map(authentication.get("passwordSecret"))
        yield (
            f"sasl.jaas.config: user {authentication.get('username')}, whose password is in Secret "
            f"{secret.get('secretName')}, key {secret.get('password')}"
        )
    elif kind == "tls":
        pair = _map(authentication.get("certificateAndKey"))
        yield "security.protocol: SSL"
        yield (
            f"ssl.keystore.*: certificate and key are in Secret {pair.get('secretName')}, keys {pair.get('certificate')} "
            f"and {pair.get('key')}"
        )
    else:
        if secured == "SSL" or kind:
            yield f"security.protocol: {f'SASL_{secured}' if kind else secured}"
        if kind:
            yield f"sasl.*: as in spec.authentication of type {kind}"
    for trusted in _maps(_map(tls).get("trustedCertificates")):
        key = trusted.get("certificate") or trusted.get("pattern")
        yield f"ssl.truststore.*: trusted certificates are in Secret {trusted.get('secretName')}, key {key}"


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _maps(value: object) -> Sequence[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []
