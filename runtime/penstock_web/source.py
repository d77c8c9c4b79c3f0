"""Resources that the web server shows. The operator and `penstock run` implement `WebSource`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import Definitions

__all__ = ["Document", "Event", "Measurement", "WebSource"]

Document = Mapping[str, Any]
"""Resource as the API server returns it, with `metadata`, `spec` and `status`. Must not be changed."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Figures of one task at one time.

    Attributes:
        at: time of the measurement, in seconds since 1970.
        task: number of the task.
        records_per_second: mean rate since the previous measurement.
        lag: records that a sink has not delivered; None: unknown, or a source.
    """

    at: float
    task: int
    records_per_second: float
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Event about a Connector or one of its pods.

    Attributes:
        at: time of its last occurrence, in seconds since 1970.
        kind: `Normal` or `Warning`.
        reason, message: as in the Event.
        about: name of the object.
        count: number of occurrences.
    """

    at: float
    kind: str
    reason: str
    message: str
    about: str
    count: int = 1


class WebSource(Protocol):
    """Resources and figures. Methods that are not coroutines read memory only, and may be called from any thread."""

    def connectors(self) -> Sequence[Document]:
        """Return all Connectors, in any order."""

    def connector(self, namespace: str, name: str) -> Document | None:
        """Return a Connector; None: it does not exist."""

    def policies(self) -> Sequence[Document]:
        """Return all TopicCreationPolicies."""

    def plugin_versions(self) -> Sequence[Document]:
        """Return all PluginVersions."""

    def definitions(self, namespace: str, plugin_version: str) -> Definitions | None:
        """Return the definitions that a PluginVersion has published; None: there are none, or they cannot be read.

        May block, unlike the other methods: call it in a thread.
        """

    def release(self) -> str:
        """Return the version of the built-in plugins."""

    def worker(self) -> WorkerConfig:
        """Return the worker configuration. It is used to check configurations, and never shown."""

    def kafka_cluster_id(self) -> str | None:
        """Return the id of the Kafka cluster; None: it is not known yet."""

    def history(self, namespace: str, name: str) -> Sequence[Measurement]:
        """Return the figures of a Connector's tasks of the last hour, oldest first; at most one a minute and task."""

    def revision(self) -> int:
        """Return a number that grows with each change of the data of the methods above."""

    async def changed(self, since: int) -> int:
        """Wait until `revision` is greater than `since`, and return it."""

    async def events(self, namespace: str, name: str) -> Sequence[Event]:
        """Return the recent Events about a Connector and its pods, the latest first.

        Raises:
            ConnectError: they cannot be read.
        """

    async def offsets(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return the last list of a Connector's offsets, in Kafka Connect's format (KIP-875); None: they were not listed.

        Raises:
            ConnectError: it cannot be read.
        """
