"""Base class of source and sink connectors: validation, task configurations, offsets."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.errors import Problem
from penstock.offsets import Offset, SourcePartition
from penstock.plugin import Plugin

__all__ = ["Connector"]


class Connector(Plugin):
    """Plugin that validates a configuration and splits it into tasks.

    Planning runs in a short-lived process without Spark. It reads nothing from the external system except in `validate` and
    `task_configs`, and writes nothing.
    """

    def validate(self, config: Any) -> Iterable[Problem]:
        """Return problems that only the external system, or several properties together, can reveal.

        Called with a parsed `Config`. Problems use the user's property names. May take up to 30 s.

        Raises:
            RetriableError: the external system is unavailable. The configuration is not at fault: planning is retried.
        """
        return ()

    def warnings(self, config: Any) -> Iterable[Problem]:
        """Return warnings about an accepted configuration, such as properties without effect.

        Called with a parsed `Config`. Must not access the external system.
        """
        return ()

    def task_configs(self, config: Any, properties: Mapping[str, str], max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the properties of each task, for at most `max_tasks` tasks; fewer are common.

        Args:
            config: the parsed `Config`.
            properties: the plugin's properties as strings, with variables resolved.
            max_tasks: `spec.tasksMax`.

        The default is one task with all properties; if the user sets a greater `spec.tasksMax`, the plan contains a warning.

        Raises:
            RetriableError: same as for `validate`.
        """
        return [properties]

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Validate new offsets before they are written (KIP-875).

        May be called twice with the same offsets, because a request with an unknown outcome is repeated. A connector that
        changes its own position in the external system must do so idempotently.

        Args:
            config: the parsed `Config`.
            offsets: the partitions to change, each with its new offset; None removes it. A reset passes all partitions, each
                with None; there may be none. For a sink, a partition is `{"kafka_topic": "t", "kafka_partition": 0}` and an
                offset `{"kafka_offset": 7}`: the partition exists, and the offset is not past its end.

        Returns:
            True if the connector accepts the offsets; False if it also keeps offsets elsewhere, or cannot decide.

        Raises:
            ConnectError: the offsets are rejected; nothing is written, and the user sees the message.
            NotImplementedError: same, for a connector whose offsets cannot be modified externally.
        """
        return False

    @property
    @abstractmethod
    def kind(self) -> str:
        """Return `source` or `sink`."""
