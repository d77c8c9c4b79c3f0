"""What a plugin object may know of where it runs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.metrics import PluginMetrics

__all__ = ["PluginContext"]


@dataclass(frozen=True, slots=True)
class PluginContext:
    """Where a plugin object runs. `Plugin.context` is one; it is set before `configure` and before any other call.

    Attributes:
        connector: the name of the connector, by which Kafka Connect would know it: it is the same for all tasks and for all
            their lives, and no other connector of that Kafka has it. What a plugin keeps in an outside system for one
            connector bears this name.
        place: the part of the configuration that asks for the plugin: `connector`, `value.converter`, `transforms.hoist`.
        version: of the plugin, as it was resolved (KIP-891).
        task: the number of the task, from 0; None while a connector is planned, and in tests.
        tasks: how many tasks the connector has; None likewise.
        life: names this start of the task, also in Spark's workers; another start has another one. Empty while a connector
            is planned. A sink that stores offsets stores it with them, so that what is left of an earlier start is refused.
        defines_transactions: the source has `transaction.boundary=connector` and delivers exactly once, so that it is the
            plugin that ends transactions (`TransactionEnd`).
        metrics: makes counters and gauges that appear on the task's endpoint.
        on_request: is called by `request_task_reconfiguration`.
    """

    connector: str = "test"
    place: str = "connector"
    version: str = ""
    task: int | None = None
    tasks: int | None = None
    life: str = ""
    defines_transactions: bool = False
    metrics: PluginMetrics = field(default_factory=PluginMetrics, compare=False, repr=False)
    on_request: Callable[[str], None] = field(default=lambda state: None, compare=False, repr=False)

    def __reduce__(self) -> tuple[type["PluginContext"], tuple[str, str, str, int | None, int | None, str, bool]]:
        """Without what belongs to this process."""
        own = (self.connector, self.place, self.version, self.task, self.tasks, self.life, self.defines_transactions)
        return PluginContext, own

    def request_task_reconfiguration(self, state: str) -> None:
        """Ask for the connector to be split into tasks anew, as the method of Kafka Connect's `ConnectorContext` does.

        `Connector.task_configs` is called again, after `validate`. Tasks whose properties change are replaced. Requests are
        handed on once a minute at most, and the same state again after ten minutes, since it may have been refused; under
        `penstock run` after 5 s and 50 s. In Spark's workers this has no effect.

        Args:
            state: a text that stands for what the tasks are split from, such as the sorted names of all tables.
        """
        self.on_request(state)
