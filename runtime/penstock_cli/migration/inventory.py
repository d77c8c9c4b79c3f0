"""All findings of `penstock import`, and their relations. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_cli.migration.connect_cluster import PLUGINS, ConnectCluster, RunningImage
from penstock_cli.migration.found import Finding, Found, LeftOut, NoConnector
from penstock_cli.migration.known_plugins import KnownPlugin, KnownPlugins

__all__ = ["Inventory"]

_NO_CONNECTOR: Final = "is not a connector of Kafka Connect, Strimzi or Confluent for Kubernetes"


class Inventory:
    """All findings of an import.

    Attributes:
        connectors: connectors, in order.
        clusters: Strimzi's `KafkaConnect`s.
        left_out: documents of other kinds.
        problems: problems of documents that cannot be read, or are incomplete.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.connectors: list[Found] = []
        self.clusters: list[ConnectCluster] = []
        self.left_out: list[LeftOut] = []
        self.problems: list[Problem] = []
        self._running: list[RunningImage] = []
        self._plugins: list[KnownPlugin] = []
        for finding in findings:
            match finding:
                case Found():
                    self.connectors.append(finding)
                case ConnectCluster():
                    self.clusters.append(finding)
                case RunningImage():
                    self._running.append(finding)
                case KnownPlugin():
                    self._plugins.append(finding)
                case LeftOut():
                    self.left_out.append(finding)
                case NoConnector():
                    self.problems.append(Problem(finding.where, _NO_CONNECTOR))
                case Problem():
                    self.problems.append(finding)

    def cluster_of(self, connector: Found) -> ConnectCluster | None:
        """Return the `KafkaConnect` of a `KafkaConnector`; None if it was not found, or if this is another connector."""
        named = [c for c in self.clusters if c.name == connector.cluster]
        return next((c for c in named if c.namespace == connector.namespace), None)

    def plugins(self, cluster: ConnectCluster | None) -> KnownPlugins:
        """Return the known plugins: those of a cluster, and those in other documents."""
        return KnownPlugins(self._plugins if cluster is None else (*cluster.plugins, *self._plugins))

    def digests(self, cluster: ConnectCluster, given: Mapping[str, str]) -> Mapping[str, str]:
        """Return references by digest: the given ones, and that of the image that all pods of a cluster run.

        The keys are the references in the KafkaConnect. A given reference takes precedence.
        """
        pods = self.running(cluster)
        own = [i.reference for i in cluster.images if i.path == PLUGINS]
        return {own[0]: pods[0], **given} if own and len(pods) == 1 else given

    def running(self, cluster: ConnectCluster) -> list[str]:
        """Return the images by digest that the pods of a cluster run: several during a rollout."""
        named = [r.image for r in self._running if (r.cluster, r.namespace) == (cluster.name, cluster.namespace)]
        return list(dict.fromkeys(named))
