"""What a plugin object may know of where it runs."""

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
        metrics: makes counters and gauges that appear on the task's endpoint.
    """

    connector: str = "test"
    place: str = "connector"
    version: str = ""
    task: int | None = None
    tasks: int | None = None
    metrics: PluginMetrics = field(default_factory=PluginMetrics, compare=False, repr=False)
