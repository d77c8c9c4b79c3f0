"""Pod of a task: its identity, and its connection with the operator over the status topic."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock_kafka.records import Entry
from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.pod_layout import (
    METRICS_PORT,
    POD_IDENTITY_VARIABLE,
    POD_IP_VARIABLE,
    POD_NAME_VARIABLE,
    POD_UID_VARIABLE,
)
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.connectivity import await_kafka
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.task.pod.control import ControlReader
from penstock_runtime.task.pod.reports import PodReports
from penstock_runtime.task.pod.status_writer import BackgroundStatusWriter

__all__ = ["KafkaUnreachable", "OperatorConnection", "Pod"]

_LEAST: Final = 5.0  # minimum seconds for the control records, even if the brokers took long to answer


class KafkaUnreachable(ConnectError):
    """Raised when Kafka is unreachable at the start. The process exits, because the operator can detect only this."""


@dataclass(frozen=True, slots=True)
class Pod:
    """Pod in which this process runs.

    Attributes:
        name, uid: name and uid of the pod in Kubernetes.
        identity: identity of the task's incarnation in the pod.
        spec: spec of that incarnation.
        ip: address of the pod; None: the operator sets none, because the task has no executors.
    """

    METRICS_PORT: ClassVar[int] = METRICS_PORT

    name: str
    uid: str
    identity: PodIdentity
    spec: TaskSpec
    ip: str | None = None

    @staticmethod
    def is_here() -> bool:
        """Return whether this process runs in a pod that the operator created."""
        return POD_IDENTITY_VARIABLE in os.environ

    @classmethod
    def of_environment(cls, spec: TaskSpec) -> "Pod":
        """Return the pod that the environment variables describe.

        Raises:
            ConfigError: a variable is missing, or its identity cannot be read by this runtime.
        """
        missing = [name for name in (POD_NAME_VARIABLE, POD_UID_VARIABLE) if not os.environ.get(name)]
        if missing:
            raise ConfigError(
                Problem(name, "is not set; the operator sets it on the pods that it creates") for name in missing
            )
        identity = PodIdentity.from_json(os.environ[POD_IDENTITY_VARIABLE])
        name, uid, ip = (os.environ.get(v) for v in (POD_NAME_VARIABLE, POD_UID_VARIABLE, POD_IP_VARIABLE))
        return cls(name or "", uid or "", identity, identity.apply_to(spec), ip or None)


class OperatorConnection:
    """Connection for a task's reports to the operator and for its control records; a `StatusRecords` that never waits.

    Args:
        pod: pod of this process.
        context: context of the task.
        paused: set and cleared as the control records request.
        stopping: set when a later incarnation of this task runs.
    """

    def __init__(self, pod: Pod, context: TaskContext, *, paused: threading.Event, stopping: threading.Event) -> None:
        self._pod = pod
        self._stopping = stopping
        self._superseded = False
        self.on_topics_reset: Callable[[], None] = lambda: None
        """Called from another thread when the active topics were reset."""
        self._records = BackgroundStatusWriter(
            lambda: StatusWriter(context.shared, client_id=f"penstock-report-{pod.spec.id}"), context.status_topic
        )
        self.reports = PodReports(pod.spec, pod.identity, pod_uid=pod.uid, records=self._records)
        self._controls = ControlReader(
            pod.spec,
            pod.identity,
            context.shared,
            context.status_topic,
            paused=paused,
            reports=self.reports,
            superseded=self._supersede,
            forget_topics=lambda: self.on_topics_reset(),
        )

    def begin(self, context: TaskContext, seconds: float, stopping: threading.Event) -> None:
        """Wait until Kafka answers, and apply the current control records. Called before the task does anything else.

        Raises:
            KafkaUnreachable: Kafka did not answer within `seconds`. The message gives the reason.
        """
        deadline = time.monotonic() + seconds
        try:
            await_kafka(context.shared, context.settings, seconds=seconds, stopping=stopping.is_set)
            self._controls.begin(max(deadline, time.monotonic() + _LEAST), stopping)
        except ConnectError as e:
            raise KafkaUnreachable(str(e)) from e

    def check(self) -> None:
        """Raise Superseded if a later incarnation has written a report."""
        if self._superseded:
            raise Superseded(f"Task {self._pod.spec.id} continues in a later pod")

    def write(self, entries: Sequence[Entry], *, timeout: float) -> None:
        """Write records in the background."""
        self._records.put(entries)

    def flush(self, seconds: float) -> None:
        """Wait at most `seconds` until all records are acknowledged."""
        self._records.flush(seconds)

    def close(self) -> None:
        """Drop pending records, and write nothing more."""
        self._records.close()

    def _supersede(self) -> None:
        self._superseded = True
        self._stopping.set()
