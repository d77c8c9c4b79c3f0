"""Values that an import reads: connectors, the settings of their workers, and the documents that it skips."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.errors import Problem
from penstock_cli.migration.connect_cluster import ConnectCluster, RunningImage
from penstock_cli.migration.known_plugins import KnownPlugin

__all__ = ["Finding", "Found", "LeftOut", "NoConnector"]


@dataclass(frozen=True)
class Found:
    """A connector that was found.

    Attributes:
        where: file and place, for messages.
        form: Kafka Connect's: name, config, initial_state.
        namespace: of a custom resource; None: it names none.
        restart: `spec.restart`, where the source has something of the kind.
        kind: `source` or `sink`, as Kafka Connect says; empty: unknown.
        tasks: how many it is known to have had; 0: unknown.
        is_live: it runs there, or is paused.
        problems: why a manifest of it cannot run.
        notes: what does not carry over.
        changes: what was found and is not taken over, with the reason.
        cluster: the `KafkaConnect` of a `KafkaConnector`, which may be empty; None: it is no such resource.
        resource: what `kubectl` takes to stop it, as `kafkaconnector`; empty: it is stopped by Kafka Connect's REST API.
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
        """The Connect name; empty: it has none."""
        config = self.form.get("config", self.form)
        name = self.form.get("name", config.get("name") if isinstance(config, Mapping) else None)
        return "" if name is None else str(name)


@dataclass(frozen=True)
class LeftOut:
    """A document that an import does not take."""

    where: str
    kind: str


@dataclass(frozen=True)
class NoConnector:
    """A document in none of the forms that an import reads. A folder may hold such; a file that is named may not."""

    where: str


Finding: TypeAlias = Found | ConnectCluster | RunningImage | KnownPlugin | LeftOut | NoConnector | Problem
