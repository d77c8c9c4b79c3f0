"""A task's reports to the operator: written when its state, its trouble, or the generation that it acts on changes."""

import threading
import time
from collections.abc import Callable
from typing import Final

from penstock_logging import without_numbers
from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.task_reports import Report, report_key
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.task.pod.status_writer import Background
from penstock_runtime.task.pod.target_state import Wanted
from penstock_runtime.task.pod.termination_message import bounded

__all__ = ["PodReports"]

_SEES: Final = {State.RUNNING: TaskState.RUNNING, State.PAUSED: TaskState.PAUSED}
_TROUBLE_SECONDS: Final = 1.0
_TROUBLE: Final = 1_000  # characters


class PodReports:
    """Keeps the present report and writes what is new of it. Used by several threads.

    Args:
        spec: of this life.
        life: likewise.
        pod_uid: of the pod.
        records: the way to the status topic.
        clock: seconds, monotonic.
        now: milliseconds since 1970.
    """

    def __init__(
        self, spec: TaskSpec, life: PodIdentity, *, pod_uid: str, records: Background,
        clock: Callable[[], float] = time.monotonic, now: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:  # fmt: skip
        self._life = life
        self._records = records
        self._clock = clock
        self._now = now
        self._lock = threading.RLock()
        self._key = report_key(spec.connector, spec.task)
        self._wanted = Wanted.of(life)
        self._present: Report | None = None
        self._trouble: str | None = None
        self._told = -_TROUBLE_SECONDS
        """When trouble was, or will be, told last."""
        self._report = Report(
            connector=spec.connector, connector_uid=life.connector_uid, pod_uid=pod_uid, task=spec.task,
            standing=life.standing, incarnation=life.incarnation, state="", acted=life.connector_generation, since=0,
            versions={place: plugin.version for place, plugin in spec.plugins.items()},
        )  # fmt: skip

    @property
    def key(self) -> bytes:
        """Of our record."""
        return self._key

    @property
    def present_trouble(self) -> str | None:
        """What hinders the task now."""
        return self._trouble

    def state(self, state: State, *, message: str | None = None, trace: str | None = None) -> None:
        """The task is in this state now."""
        with self._lock:
            changes: dict[str, object] = {"message": bounded(message), "trace": trace}
            if state != self._report.state:
                changes |= {"state": state.value, "since": self._now()}
            self._report = self._report.model_copy(update=changes)
            self._act()
            self._tell()

    def wanted(self, wanted: Wanted) -> None:
        """The task was told to do this; that it does is told when it is so."""
        with self._lock:
            self._wanted = wanted
            if self._act():
                self._tell()

    def trouble(self, text: str | None) -> None:
        """Something hinders the task, or does no longer. Told once a second at most."""
        text = bounded(text, _TROUBLE)
        with self._lock:
            if (text and without_numbers(text)) == (self._trouble and without_numbers(self._trouble)):
                return
            self._trouble = text
            self._report = self._report.model_copy(update={"trouble": text})
            now = self._clock()
            if self._told <= now:  # else one waits to be written, and this goes in its place
                self._told = max(now, self._told + _TROUBLE_SECONDS)
            self._tell(after=self._told - now)

    def again(self) -> None:
        """An older life has written over ours."""
        with self._lock:
            if self._present is not None:
                self._records.put([(self._key, self._present.to_value())])

    def _act(self) -> bool:
        """Take over the generation that is wanted when the state is the one that it wants; whether that is news."""
        states = {s.value: t for s, t in _SEES.items()}
        fits = states.get(self._report.state) is self._wanted.state or self._report.state == State.FAILED.value
        if not fits or self._report.acted == self._wanted.generation:
            return False
        self._report = self._report.model_copy(update={"acted": self._wanted.generation})
        return True

    def _tell(self, *, after: float = 0.0) -> None:
        if self._report.state and (self._report != self._present or after):
            self._present = self._report
            self._records.put([(self._key, self._report.to_value())], after=after)
