"""Follows what the operator tells the tasks of a connector, and passes it to the task of this process."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.records import Entry
from penstock_kafka.topic_position import TopicPosition
from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.task_reports import Control, Report, control_key, report_key
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_runtime.kafka.compacted_topic import follower
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.task.pod.reports import PodReports
from penstock_runtime.task.pod.target_state import Wanted

__all__ = ["Controls", "order"]

log = logging.getLogger(__name__)
_POLL: Final = 1.0
_FIRST_POLL: Final = 0.05
_PAUSE: Final = 1.0


class Controls:
    """Holds a task's `paused` as the operator wants it.

    Args:
        spec: of this life.
        life: likewise.
        settings: of the worker's cluster.
        topic: the status topic.
        paused: set and cleared here.
        reports: told what is wanted.
        superseded: called when a later life of this task, of the same plan, has told of itself.
    """

    def __init__(
        self, spec: TaskSpec, life: PodIdentity, settings: ClientSettings, topic: str, *, paused: threading.Event,
        reports: PodReports, superseded: Callable[[], None],
    ) -> None:  # fmt: skip
        self._life = life
        self._paused = paused
        self._reports = reports
        self._superseded = superseded
        self._wanted = Wanted.of(life)
        self._control_key = control_key(spec.connector)
        self._report_key = report_key(spec.connector, spec.task)
        known = spec.status
        self._reader = follower(settings, topic, [self._control_key, self._report_key], TopicPosition.of(known))
        self._live = False
        self._obey(self._wanted)
        self._take(() if known is None else known.entries())

    def begin(self, deadline: float, stopping: threading.Event) -> None:
        """Read what is there now, then follow in a thread.

        Args:
            deadline: until when to try, in seconds of the monotonic clock.
            stopping: no need any more.

        Raises:
            ConnectError: the topic could not be read by then, or may not be.
        """
        while not stopping.is_set():
            try:
                self._take(self._reader.poll(_FIRST_POLL))
            except ConnectError as e:
                if time.monotonic() >= deadline or not isinstance(e, RetriableError):
                    raise
                stopping.wait(_PAUSE / 2)
            if self._reader.caught_up:
                break
            if time.monotonic() >= deadline:
                raise RetriableError("The status topic was not read to its end in time")
        self._live = True
        threading.Thread(target=self._follow, name="control", daemon=True).start()

    def _follow(self) -> None:
        while True:
            try:
                self._take(self._reader.poll(_POLL))
            except ConnectError as e:
                log.debug("The control records cannot be read now: %s", e)
                time.sleep(_PAUSE)

    def _take(self, entries: Sequence[Entry]) -> None:
        for key, value in entries:
            if key == self._control_key:
                self._obey(self._wanted.told(Control.of(value)))
            elif key == self._report_key and self._live:
                self._compare(Report.of(value))

    def _obey(self, wanted: Wanted) -> None:
        if wanted != self._wanted:
            log.info("Told to be %s (generation %d)", wanted.state, wanted.generation)
        self._wanted = wanted
        if wanted.state is TaskState.PAUSED:
            self._paused.set()
        else:
            self._paused.clear()
        self._reports.wanted(wanted)

    def _compare(self, report: Report | None) -> None:
        """A report under our key that is not ours: of a life that is over and wrote late, or of one that follows us."""
        if report is None:
            return
        own, other = order(self._life), order(report)
        if other < own:
            self._reports.again()
        elif other > own and other[:2] == own[:2]:
            self._superseded()


def order(life: PodIdentity | Report) -> tuple[int, str, int]:
    """Lives of a task, the earlier the smaller."""
    return life.standing.generation, life.standing.plan, life.incarnation
