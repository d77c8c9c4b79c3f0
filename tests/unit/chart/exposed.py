"""What the endpoints of the operator and of tasks serve, with every metric of the code."""

from typing import Final

from prometheus_client import generate_latest

from penstock.sink import TopicPartition
from penstock.source import Backlog
from penstock_model.contracts.task_spec import PluginReference, TaskSpec
from penstock_operator.key import Key
from penstock_operator.metrics import ConnectorFigures, Metrics
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.plugins.plugin_metrics import MetricsByPlace
from penstock_runtime.task.metrics import TaskMetrics

__all__ = ["exposed"]

_PLUGINS: Final = ("connector", "key.converter", "value.converter", "header.converter", "transforms.t", "predicates.p")


def exposed() -> dict[str, bytes]:
    """Pages in Prometheus' format: `operator`, and `source` and `sink` of tasks."""
    operator = Metrics(version="1", release="r")
    figures = ConnectorFigures(
        state="Running", tasks={"Running": 1}, active_topics=1, executors=(1, 1), desired_tasks=1
    )
    operator.connector(Key("shop", "orders"), figures)
    operator.requested("get", "Pod", 200)
    pages = {"operator": operator.page()}
    ref = PluginReference(reference="a:B", alias="B", version="1")
    for kind in ("source", "sink"):
        spec = TaskSpec.model_validate(
            {
                "connector": "shop.orders",
                "task": 0,
                "tasks": 1,
                "kind": kind,
                "config": {},
                "worker": {},
                "plugins": dict.fromkeys(_PLUGINS, ref),
            }
        )
        task = TaskMetrics(spec, MetricsByPlace())
        task.state(State.RUNNING)
        task.batch(Summary(written=1), 0.0, on_spark=False)
        task.looped()
        task.backlog.report(Backlog(records=1, bytes=1, seconds=1.0))
        task.lag({TopicPartition("orders", 0): 0})
        pages[kind] = generate_latest(task.registry)
    return pages
