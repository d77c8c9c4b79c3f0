"""The base class of source and sink connectors: validation, task configurations, offsets."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.errors import Problem
from penstock.offsets import Offset, SourcePartition
from penstock.plugin import Plugin

__all__ = ["Connector"]


class Connector(Plugin):
    """Validates a configuration and splits it into tasks.

    Planning runs in a short process without Spark. It reads nothing outside but what `validate` looks at, and writes
    nothing.
    """

    def validate(self, config: Any) -> Iterable[Problem]:
        """Problems that show only in the outside system, or in several properties together.

        Called with a `Config` that parsed. Problems use the property names of the user. May take up to 30 s.

        Raises:
            RetriableError: what it looks at is away. That is no fault of the configuration: planning is tried again.
        """
        return ()

    def warnings(self, config: Any) -> Iterable[Problem]:
        """Return what the user should know about a configuration that is accepted, such as properties without effect.

        Called with a `Config` that parsed. It looks at nothing outside.
        """
        return ()

    def task_configs(self, config: Any, properties: Mapping[str, str], max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The properties of each task, at most `max_tasks` of them; fewer is normal.

        Args:
            config: the parsed `Config`.
            properties: the plugin's properties as texts, variables resolved.
            max_tasks: `spec.tasksMax`.

        The default is one task with all properties; a user who sets a greater `spec.tasksMax` gets a warning.

        Raises:
            RetriableError: as `validate`.
        """
        return [properties]

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Check new offsets before they are written (KIP-875), or refuse them.

        It may be called twice with the same offsets: a request whose outcome is unknown is made again. So a connector that
        sets back a position of its own in the outside system does that in a way that can be repeated.

        Args:
            config: the parsed `Config`.
            offsets: what is to change, each with its new offset; None removes it. When all offsets are reset, all of them,
                each with None; there may be none. Of a sink a partition is `{"kafka_topic": "t", "kafka_partition": 0}` and
                an offset `{"kafka_offset": 7}`: the partition exists, and the offset is not past its end.

        Returns:
            True if the connector understands them; False if it also keeps offsets elsewhere, or does not know.

        Raises:
            ConnectError: the offsets are refused; nothing is written and the message goes to the user.
            NotImplementedError: likewise: its offsets cannot be modified from outside.
        """
        return False

    @property
    @abstractmethod
    def kind(self) -> str:
        """`source` or `sink`."""
