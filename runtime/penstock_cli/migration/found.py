"""Results of reading for an import: connectors, the settings of their workers, and skipped documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.errors import Problem
from penstock_cli.migration.connect_cluster import ConnectCluster, RunningImage
from penstock_cli.migration.known_plugins import KnownPlugin

__all__ = ["Finding", "Found", "LeftOut", "NoConnector"]


@dataclass(frozen=True)
class Found:
    """Connector that was found.

    Attributes:
        where: file and document, for messages.
        form: Kafka Connect's form: name, config, initial_state.
        namespace: namespace of a custom resource; None if it has none.
        restart: `spec.restart`, if the source has an equivalent.
        kind: `source` or `sink`, as Kafka Connect reports it; empty if unknown.
        tasks: number of tasks that it has had; 0: unknown.
        is_live: whether it is running or paused there.
        problems: reasons why its manifest cannot run.
        notes: settings that are not carried over.
        changes: values that were found but not used, with the reason.
        cluster: the `KafkaConnect` of a `KafkaConnector`, which may be empty; None if it is another resource.
        resource: resource type for stopping it with `kubectl`, such as `kafkaconnector`; empty: the REST API stops it.
    """

    where: str
    form: Mapping[str, Any]
    namespace: str | None = None
    restart: Mapping[str, Any] | None = None
    kind: str = ""
    tasks: int = 0
    is_live: bool = False
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    changes: tuple[Problem, ...] = ()
    cluster: str | None = None
    resource: str = ""

    @property
    def name(self) -> str:
        """Return the Connect name; empty if it has none."""
        config = self.form.get("config", self.form)
        name = self.form.get("name", config.get("name") if isinstance(config, Mapping) else None)
        return "" if name is None else str(name)


@dataclass(frozen=True)
class LeftOut:
    """Document of a kind that an import skips."""

    where: str
    kind: str


@dataclass(frozen=True)
class NoConnector:
    """Document in none of the formats that an import reads. Allowed in a folder, but not as a named file."""

    where: str


Finding: TypeAlias = Found | ConnectCluster | RunningImage | KnownPlugin | LeftOut | NoConnector | Problem
