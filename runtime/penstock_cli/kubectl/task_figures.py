"""Rates and lags of tasks, from the metrics endpoints of their pods."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from penstock.errors import ConnectError
from penstock_cli.kubectl_client import Kubectl
from penstock_model.contracts.pod_layout import METRICS_PORT

__all__ = ["MAX_TASKS", "Figures", "Pod", "read_figures"]

MAX_TASKS: Final = 40
"""Maximum number of tasks whose metrics are read; each is a request through the API server."""
_PARALLEL: Final = 8
_RECORDS: Final = (
    "kafka_connect_source_task_source_record_write_total",
    "kafka_connect_sink_task_sink_record_send_total",
)
_LAST_RECORD: Final = "penstock_task_last_record_timestamp_seconds"
_LAGS: Final = {
    "kafka_connect_sink_task_lag": "",
    "penstock_source_task_backlog_records": "",
    "penstock_source_task_backlog_bytes": " B",
    "penstock_source_task_backlog_seconds": " s",
}


@dataclass(frozen=True, slots=True)
class Pod:
    """Task pod."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one task.

    Attributes:
        at: time at which they were read, in seconds of a monotonic clock.
        records: number of records delivered since the pod started.
        lag: records that a sink has yet to read, or the backlog of a source in `unit`; None: unknown.
        unit: unit of a source's backlog, after a space; empty: records.
        last_record: time of the last delivery, in seconds since 1970; None: none since the pod started.
    """

    at: float
    records: float
    lag: float | None = None
    unit: str = ""
    last_record: float | None = None

    @classmethod
    def of(cls, metrics: str, at: float) -> "Figures":
        """Read Prometheus text."""
        records, lag, unit, last_record = 0.0, None, "", None
        for family in text_string_to_metric_families(metrics):
            for sample in family.samples:
                if sample.name in _RECORDS:
                    records += sample.value
                elif sample.name == _LAST_RECORD:
                    last_record = sample.value
                elif sample.name in _LAGS and lag is None:
                    lag, unit = sample.value, _LAGS[sample.name]
        return cls(at, records, lag, unit, last_record)

    def rate_since(self, before: "Figures | None") -> float | None:
        """Return records per second since earlier figures; None: there are none, or the pod has restarted since."""
        if before is None or self.at <= before.at or self.records < before.records:
            return None
        return (self.records - before.records) / (self.at - before.at)


def read_figures(kubectl: Kubectl, pods: Sequence[Pod]) -> tuple[Mapping[Pod, Figures], str]:
    """Read the metrics of task pods, through the API server.

    Args:
        kubectl: client of a user who may `get` `pods/proxy`.
        pods: at most `MAX_TASKS`.

    Returns:
        The figures of the pods that answered, and the error of one that did not; empty: all did.
    """

    def read(pod: Pod) -> Figures | str:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}:{METRICS_PORT}/proxy/metrics"
        try:
            return Figures.of(kubectl.text("get", "--raw", path, "--request-timeout=5s"), monotonic())
        except (ConnectError, ValueError) as e:
            return str(e)

    with ThreadPoolExecutor(_PARALLEL) as threads:
        answers = list(threads.map(read, pods))
    figures = {pod: answer for pod, answer in zip(pods, answers, strict=True) if isinstance(answer, Figures)}
    return figures, next((answer for answer in answers if isinstance(answer, str)), "")
