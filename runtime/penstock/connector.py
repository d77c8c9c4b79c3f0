"""What both kinds of connector share: configuration, tasks, versions, offsets."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.errors import Problem
from penstock.offsets import Offset, SourcePartition
from penstock.plugin import Plugin

__all__ = ["Connector"]


class Connector(Plugin):
    """Asked by the plan: is this configuration good, and what does each task get?

    Lives in a short process without Spark; reads and writes nothing but what `validate` needs to look at.
    """

    def validate(self, config: Any) -> Iterable[Problem]:
        """Problems that only a look at the outside world or at several properties shows.

        Called with a `Config` that parsed. Property names are the user's. May take up to 30 s.
        """
        return ()

    def task_configs(self, config: Any, properties: Mapping[str, str], max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The properties of each task, at most `max_tasks` of them; fewer is normal.

        Args:
            config: the parsed `Config`.
            properties: the plugin's properties as texts, variables resolved.
            max_tasks: `spec.tasksMax`.

        The default is one task with all properties, and a warning to whoever asks for more.
        """
        return [properties]

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Whether the connector understands these new offsets (None: forgotten), before they are written (KIP-875).

        False means that it keeps offsets elsewhere too, or does not know.

        Raises:
            ConnectError: refuses them; nothing is written and the message goes to the user.
        """
        return False

    @property
    @abstractmethod
    def kind(self) -> str:
        """`source` or `sink`."""
