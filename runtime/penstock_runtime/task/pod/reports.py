"""Reports of a task to the operator, written at each change of state, trouble or generation acted on.

The state is empty until the task runs or is paused: until then, only trouble is reported. A task that has started to run
must prove that it works (`Report.progress`): its first report waits a second for this. The first record is reported
immediately. After it, while records are delivered, one report is written each minute, with the time of the last record and
the figures. When no more records arrive, two more reports follow, the first within a minute, so that the final report has
the time of the last record and the figures of an idle task. Tasks of one connector write their reports in the same second of
the minute, so that the operator writes one status for all of them; those of other connectors write in other seconds.
"""

import threading
import time
import zlib
from collections.abc import Callable
from typing import Final

from penstock_logging import without_numbers
from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.task_reports import Report, report_key
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.process.termination_message import bounded
from penstock_runtime.spark.executors_wanted import ExecutorsState
from penstock_runtime.task.pod.figures import Figures
from penstock_runtime.task.pod.status_writer import BackgroundStatusWriter
from penstock_runtime.task.pod.target_state import TargetState

__all__ = ["PodReports"]

_TASK_STATES: Final = {State.RUNNING: TaskState.RUNNING, State.PAUSED: TaskState.PAUSED}
_TROUBLE_SECONDS: Final = 1.0
_SAME_SECONDS: Final = 60.0
"""Seconds between two reports of the same trouble that differ only in numbers, such as the number of an attempt."""
_TROUBLE: Final = 1_000  # characters
_MINUTE: Final = 60_000  # milliseconds
_UNPROVEN: Final = 1.0
"""Seconds for which the first report of a task that has just started to run waits for its first round."""
_STEADY: Final = 3.0
"""Seconds after its first round from which a task counts as steady."""


class PodReports:
    """Latest report, which is written when it has changed. Used by several threads.

    Args:
        spec: spec of this incarnation.
        identity: identity of this pod.
        pod_uid: uid of the pod.
        records: writes to the status topic.
        clock: seconds, monotonic.
        now: milliseconds since 1970.
    """

    def __init__(
        self,
        spec: TaskSpec,
        identity: PodIdentity,
        *,
        pod_uid: str,
        records: BackgroundStatusWriter,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._records = records
        self._clock = clock
        self._now = now
        self._lock = threading.RLock()
        self._key = report_key(spec.connector, spec.task)
        self._phase = zlib.crc32(spec.connector.encode()) % _MINUTE
        self._looped: int | None = None
        self._last_record: int | None = None
        """When the last record was delivered, in milliseconds; None: none was."""
        self._reported_minute: int | None = None
        """Start of the minute in which the figures were last reported."""
        self._figures = Figures(is_sink=spec.kind == "sink", clock=clock)
        self._figures_due: int | None = None
        """When figures are reported although no record was delivered, in milliseconds; None: the task does not run."""
        self._proven_at: float | None = None
        self._target = TargetState.of(identity)
        self._written: Report | None = None
        self._trouble: str | None = None
        self._trouble_written = self._trouble_due = -_SAME_SECONDS
        """Times when the last change of trouble was written, and when the next one is due, if that is later."""
        self._report = Report(
            connector=spec.connector,
            connector_uid=identity.connector_uid,
            pod_uid=pod_uid,
            task=spec.task,
            epoch=identity.epoch,
            incarnation=identity.incarnation,
            state="",
            since=0,
            acted=identity.connector_generation,
            versions={place: plugin.version for place, plugin in spec.plugins.items()},
            progress="none",
        )

    @property
    def key(self) -> bytes:
        """Key of the reports."""
        return self._key

    @property
    def present_trouble(self) -> str | None:
        """Current trouble of the task, or None."""
        return self._trouble

    def state(self, state: State, *, message: str | None = None, trace: str | None = None) -> None:
        """Report that the task is in this state now."""
        with self._lock:
            changes: dict[str, object] = {"message": bounded(message), "trace": trace}
            if state != self._report.state:
                now = self._now()
                changes |= {"state": state.value, "since": now, "read_rate": None, "busy": None}
                self._figures.begin()
                self._figures_due = self._minute(now) + 2 * _MINUTE if state is State.RUNNING else None
            self._report = self._report.model_copy(update=changes)
            self._set_acted()
            begins = state is State.RUNNING and "state" in changes and self._proven_at is None
            self._write(after=_UNPROVEN if begins else 0.0)

    def target(self, target: TargetState) -> None:
        """Set the target state. Its generation is reported as acted on once the task is in that state."""
        with self._lock:
            self._target = target
            if self._set_acted():
                self._write()

    def trouble(self, text: str | None) -> None:
        """Report a problem that hinders the task; None: there is none any more.

        Changes are written at most once a second, and changes of only numbers at most once a minute. The last one is written
        even if no other follows.
        """
        text = bounded(text, _TROUBLE)
        with self._lock:
            now = self._clock()
            if text == self._trouble:
                return
            is_same = (text and without_numbers(text)) == (self._trouble and without_numbers(self._trouble))
            self._trouble = text
            looped = None if text is None else self._looped
            self._report = self._report.model_copy(update={"trouble": text, "last_loop": looped})
            is_written = self._trouble_due <= now  # otherwise a report waits to be written, and this one replaces it
            if is_written:
                self._trouble_written = self._trouble_due
            due = max(now, self._trouble_written + (_SAME_SECONDS if is_same else _TROUBLE_SECONDS))
            self._trouble_due = due if is_written else min(due, self._trouble_due)
            self._write(after=self._trouble_due - now)

    def lag(self, records: int, growth: str | None) -> None:
        """Store the lag for the next report, and report when its growth starts and ends. May be called from any thread."""
        self._figures.lag(records)
        if (growth is None) is (self._report.lagging is None):  # not for each change of numbers in the text
            return
        with self._lock:
            self._report = self._report.model_copy(update={"lagging": growth})
            self._write()

    def partitions(self, number: int) -> None:
        """Store the number of partitions for the next report."""
        self._figures.partitions(number)

    def waited(self, seconds: float) -> None:
        """Count time in which there were no records to read."""
        self._figures.waited(seconds)

    def executors(self, state: ExecutorsState) -> None:
        """Report the executors of the task."""
        changes = {
            "executors_wanted": state.wanted,
            "executors": state.connected,
            "executors_trouble": bounded(state.trouble, _TROUBLE),
        }
        with self._lock:
            self._report = self._report.model_copy(update=changes)
            self._write()

    def batch(self, read: int, delivered: int) -> None:
        """Count a batch, and report the time of the last record and the figures, unless that was done in this minute."""
        self._figures.batch(read, delivered)
        if not delivered:
            return
        now = self._now()
        is_first, self._last_record = self._last_record is None, now
        if is_first or self._minute(now) != self._reported_minute:
            self._report_figures(now)
        else:
            self._figures_due = self._minute(now) + _MINUTE

    def looped(self, *, proven: bool) -> None:
        """Store the time for reports of trouble, and report the first round that proves that the task works."""
        self._looped = now = self._now()
        if self._figures_due is not None and now >= self._figures_due:
            self._report_figures(now)
        if self._report.progress == "steady" or not proven:
            return
        if self._proven_at is None:
            self._proven_at = self._clock()
            self._set_progress("loop")
        elif self._clock() >= self._proven_at + _STEADY:
            self._set_progress("steady")

    def _report_figures(self, now: int) -> None:
        """Report the time of the last record and the figures, if they have changed."""
        self._reported_minute = self._minute(now)
        self._figures_due = self._reported_minute + 2 * _MINUTE
        with self._lock:
            latest = {**self._figures.take(), "last_record": self._last_record}
            if any(getattr(self._report, name) != value for name, value in latest.items()):
                self._report = self._report.model_copy(update={**latest, "figures_at": now})
                self._write()

    def _set_progress(self, progress: str) -> None:
        with self._lock:
            self._report = self._report.model_copy(update={"progress": progress})
            self._write()

    def ask(self, asked: str) -> None:
        """Report that the plugin requests a task reconfiguration (`Report.asked`)."""
        with self._lock:
            self._report = self._report.model_copy(update={"asked": asked})
            self._write()

    def write_again(self) -> None:
        """Write the last report once more, because an earlier incarnation has overwritten it."""
        with self._lock:
            if self._written is not None:
                self._records.put([(self._key, self._written.to_value())])

    def _minute(self, at: int) -> int:
        """Return the start of the minute of this time; minutes start at a second that depends on the connector."""
        return at - (at - self._phase) % _MINUTE

    def _set_acted(self) -> bool:
        """Set the generation acted on if the task is in the target state, or has failed; return whether it has changed."""
        states = {s.value: t for s, t in _TASK_STATES.items()}
        fits = states.get(self._report.state) is self._target.state or self._report.state == State.FAILED.value
        if not fits or self._report.acted == self._target.generation:
            return False
        self._report = self._report.model_copy(update={"acted": self._target.generation})
        return True

    def _write(self, *, after: float = 0.0) -> None:
        if (self._report.state or self._trouble or self._written) and (self._report != self._written or after):
            self._written = self._report = self._report.model_copy(update={"last_record": self._last_record})
            self._records.put([(self._key, self._report.to_value())], after=after)
