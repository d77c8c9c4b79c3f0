"""Context in which a plugin object runs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.metrics import PluginMetrics

__all__ = ["PluginContext"]


@dataclass(frozen=True, slots=True)
class PluginContext:
    """Context of a plugin object, available as `Plugin.context` before `configure` or any other method is called.

    Attributes:
        connector: the Connect name of the connector. It is the same for all tasks and all their starts, and unique within
            the Kafka cluster. Use it to name per-connector state in an external system.
        place: the part of the configuration that defines the plugin: `connector`, `value.converter`, `transforms.hoist`.
        version: the resolved version of the plugin (KIP-891).
        task: the task number, starting at 0; None during planning and in tests.
        tasks: the number of tasks of the connector; None during planning and in tests.
        start_id: identifies this start of the task, in Spark workers too; each start has a different one. Empty during
            planning. A sink that stores offsets should store it with them, to reject writes of an earlier start.
        defines_transactions: whether the source has `transaction.boundary=connector` and exactly-once delivery, so that the
            plugin must end transactions (`TransactionEnd`).
        metrics: creates counters and gauges that are served on the task's metrics endpoint.
        on_request: called by `request_task_reconfiguration`.
    """

    connector: str = "test"
    place: str = "connector"
    version: str = ""
    task: int | None = None
    tasks: int | None = None
    start_id: str = ""
    defines_transactions: bool = False
    metrics: PluginMetrics = field(default_factory=PluginMetrics, compare=False, repr=False)
    on_request: Callable[[str], None] = field(default=lambda state: None, compare=False, repr=False)

    def __reduce__(self) -> tuple[type["PluginContext"], tuple[str, str, str, int | None, int | None, str, bool]]:
        """Pickle without members that belong to this process."""
        own = (
            self.connector,
            self.place,
            self.version,
            self.task,
            self.tasks,
            self.start_id,
            self.defines_transactions,
        )
        return PluginContext, own

    def request_task_reconfiguration(self, state: str) -> None:
        """Request new task configurations, like the method of Kafka Connect's `ConnectorContext`.

        `Connector.validate` and `Connector.task_configs` are called again, and tasks whose properties change are replaced.
        Requests are forwarded at most once a minute, and the same state again only after ten minutes, because it may have
        been rejected; with `penstock run`, after 5 s and 50 s. Has no effect in Spark workers.

        Args:
            state: a string that represents the input of `task_configs`, such as the sorted names of all tables.
        """
        self.on_request(state)
