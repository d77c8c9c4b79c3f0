"""How each side is started on a connector. Both get the same flat configuration, with Kafka Connect's names."""

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from tests.bench.measured import Measured
from tests.bench.peer import connect_command

from penstock_runtime.java_home import Java

__all__ = ["Connect", "Penstock", "Side", "Work"]

_CLASS: Final = "connector.class"
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
CONVERTERS: Final[Mapping[str, str]] = {
    "key.converter": _JSON,
    "value.converter": _JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Work:
    """One connector to run: its name, new for every run, and its configuration."""

    kind: str
    config: Mapping[str, str]
    name: str = field(default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"bench-{self.kind}-{next(_numbers)}")


class Side(Protocol):
    """Penstock or Kafka Connect."""

    @property
    def name(self) -> str:
        """For people."""

    def run(self, work: Work, folder: Path) -> Measured:
        """The side on this work, not started yet; `folder` is new."""

    def run_all(self, works: Sequence[Work], folder: Path) -> Measured:
        """The side on several connectors at once."""

    def on(self, servers: str) -> "Side":
        """The same side on another broker."""


@dataclass(frozen=True)
class Penstock:
    """`penstock run` on a manifest, with its child processes."""

    servers: str
    spark_start: str = "Eager"
    options: Sequence[str] = ()
    environment: Sequence[str] = ()
    name: str = "Penstock"

    def on(self, servers: str) -> Side:
        """As `Side` says."""
        return replace(self, servers=servers)

    def run(self, work: Work, folder: Path) -> Measured:
        """As `Side` says."""
        return self.run_all([work], folder)

    def run_all(self, works: Sequence[Work], folder: Path) -> Measured:
        """As `Side` says."""
        manifests = []
        for work in works:
            config = dict(work.config)
            spec = {"class": config.pop(_CLASS), "config": config, "spark": {"start": self.spark_start}}
            manifests.append(
                {
                    "apiVersion": "penstock.dev/v1alpha1",
                    "kind": "Connector",
                    "metadata": {"name": work.name},
                    "spec": spec,
                }
            )
        (folder / "connector.yaml").write_text("\n---\n".join(map(json.dumps, manifests)))  # YAML takes JSON
        command = [
            "/usr/bin/env",
            *self.environment,
            sys.executable,
            "-m",
            "penstock_cli",
            "run",
            "connector.yaml",
            "--bootstrap-servers",
            self.servers,
            *self.options,
        ]
        return Measured(self.name, command, folder, "Spark is up" if self.spark_start == "Eager" else None)


@dataclass(frozen=True)
class Connect:
    """Kafka Connect standalone: at least once, the only mode it has; `plugins` has folders of plugins of others."""

    servers: str
    java: Java
    plugins: Path | None = None
    heap: str = "1g"
    name: str = "Kafka Connect"

    def on(self, servers: str) -> Side:
        """As `Side` says."""
        return replace(self, servers=servers)

    def run(self, work: Work, folder: Path) -> Measured:
        """As `Side` says."""
        return self.run_all([work], folder)

    def run_all(self, works: Sequence[Work], folder: Path) -> Measured:
        """As `Side` says."""
        connectors = {work.name: work.config for work in works}
        command = connect_command(
            self.java,
            folder,
            servers=self.servers,
            connectors=connectors,
            plugins=self.plugins,
            heap=self.heap,
        )
        return Measured(self.name, command, folder, None)
