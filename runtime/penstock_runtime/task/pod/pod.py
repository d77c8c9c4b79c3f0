"""The pod around a task: who it is, and its connection to the operator over Kafka."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock_kafka.records import Entry
from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.pod_layout import LIFE_VARIABLE, METRICS_PORT, POD_NAME_VARIABLE, POD_UID_VARIABLE
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.connectivity import await_kafka
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.task.pod.control import Controls
from penstock_runtime.task.pod.reports import PodReports
from penstock_runtime.task.pod.status_writer import Background

__all__ = ["Connection", "Pod", "Unreached"]

_LEAST: Final = 5.0  # seconds for the control records, however long the brokers took to answer


class Unreached(ConnectError):
    """Kafka could not be reached at the start. The process ends: only its end can be seen without Kafka."""


@dataclass(frozen=True, slots=True)
class Pod:
    """Who this is.

    Attributes:
        name, uid: Kubernetes'.
        life: which life of the task this is.
        spec: of that life.
    """

    METRICS_PORT: ClassVar[int] = METRICS_PORT

    name: str
    uid: str
    life: PodIdentity
    spec: TaskSpec

    @staticmethod
    def here() -> bool:
        """Whether this process runs in a pod that the operator made."""
        return LIFE_VARIABLE in os.environ

    @classmethod
    def of_environment(cls, spec: TaskSpec) -> "Pod":
        """This one.

        Raises:
            ConfigError: it was not made as this runtime understands it.
        """
        missing = [name for name in (POD_NAME_VARIABLE, POD_UID_VARIABLE) if not os.environ.get(name)]
        if missing:
            raise ConfigError(
                Problem(name, "is not set; the operator sets it on the pods that it makes") for name in missing
            )
        life = PodIdentity.from_json(os.environ[LIFE_VARIABLE])
        return cls(os.environ[POD_NAME_VARIABLE], os.environ[POD_UID_VARIABLE], life, life.apply_to(spec))


class Connection:
    """What goes between a task and the operator. Implements `task_reports.Records`: nothing waits for Kafka.

    Args:
        pod: this one.
        setup: the task's.
        paused: held as the operator wants it.
        stopping: set when a later life of this task is at work.
    """

    def __init__(self, pod: Pod, setup: TaskContext, *, paused: threading.Event, stopping: threading.Event) -> None:
        self._pod = pod
        self._stopping = stopping
        self._superseded = False
        self._background = Background(
            lambda: StatusWriter(setup.shared, client_id=f"penstock-report-{pod.spec.id}"), setup.status_topic
        )
        self.reports = PodReports(pod.spec, pod.life, pod_uid=pod.uid, records=self._background)
        self._controls = Controls(
            pod.spec, pod.life, setup.shared, setup.status_topic, paused=paused, reports=self.reports,
            superseded=self._leave,
        )  # fmt: skip

    def begin(self, setup: TaskContext, seconds: float, stopping: threading.Event) -> None:
        """Reach Kafka, and do what the control records say now, before anything else is done.

        Raises:
            Unreached: not in so many seconds; the message says why.
        """
        deadline = time.monotonic() + seconds
        try:
            await_kafka(setup.shared, setup.settings, seconds=seconds, stopping=stopping.is_set)
            self._controls.begin(max(deadline, time.monotonic() + _LEAST), stopping)
        except ConnectError as e:
            raise Unreached(str(e)) from e

    def check(self) -> None:
        """Raise Superseded when a later life has told of itself."""
        if self._superseded:
            raise Superseded(f"Task {self._pod.spec.id} lives on in a later pod")

    def write(self, entries: Sequence[Entry], *, timeout: float) -> None:
        """Write records in the background."""
        self._background.put(entries)

    def flush(self, seconds: float) -> None:
        """Wait until what was told is with Kafka, so long at most."""
        self._background.flush(seconds)

    def close(self) -> None:
        """Tell nothing more."""
        self._background.close()

    def _leave(self) -> None:
        self._superseded = True
        self._stopping.set()
