"""Follow the operator's control records for the connector, and apply them to the task of this process."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.records import Entry
from penstock_kafka.topic_position import TopicPosition
from penstock_model.contracts.log_levels import LogLevels
from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.task_reports import Control, Report, control_key, report_key
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_runtime.kafka.compacted_topic import follower
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.logs import override_level
from penstock_runtime.task.pod.reports import PodReports
from penstock_runtime.task.pod.target_state import TargetState

__all__ = ["ControlReader", "order"]

log = logging.getLogger(__name__)
_POLL: Final = 1.0
_FIRST_POLL: Final = 0.05
_PAUSE: Final = 1.0


class ControlReader:
    """Reader that sets a task's `paused` as the latest control record requests.

    Args:
        spec: spec of this incarnation.
        identity: identity of this pod.
        settings: settings of clients of the worker's cluster.
        topic: status topic.
        paused: set and cleared here.
        reports: receives the target state.
        superseded: called when a later incarnation of this task, of the same plan, has written a report.
        forget_topics: called when the active topics were reset.
        set_log_level: called when another log level is requested for this task; None: that of the release.
    """

    def __init__(
        self,
        spec: TaskSpec,
        identity: PodIdentity,
        settings: ClientSettings,
        topic: str,
        *,
        paused: threading.Event,
        reports: PodReports,
        superseded: Callable[[], None],
        forget_topics: Callable[[], None] = lambda: None,
        set_log_level: Callable[[str | None], None] = override_level,
    ) -> None:
        self._identity = identity
        self._paused = paused
        self._reports = reports
        self._superseded = superseded
        self._forget_topics = forget_topics
        self._set_log_level = set_log_level
        self._task = spec.task
        self._log_level: str | None = None
        self._topics_reset = _reset_in(() if spec.status is None else spec.status.entries(), spec.connector, identity)
        self._target = TargetState.of(identity)
        self._control_key = control_key(spec.connector)
        self._report_key = report_key(spec.connector, spec.task)
        snapshot = spec.status
        self._reader = follower(settings, topic, [self._control_key, self._report_key], TopicPosition.of(snapshot))
        self._live = False
        self._apply(self._target)
        self._take(() if snapshot is None else snapshot.entries())

    def begin(self, deadline: float, stopping: threading.Event) -> None:
        """Read the status topic to its end, then follow it in a thread.

        Args:
            deadline: deadline of the first reading, in seconds of the monotonic clock.
            stopping: ends the first reading early.

        Raises:
            ConnectError: the topic was not read to its end before the deadline, or this task lacks the right to read it.
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
                raise RetriableError("cannot read the status topic to its end in time")
        self._live = True
        threading.Thread(target=self._follow, name="control", daemon=True).start()

    def _follow(self) -> None:
        while True:
            try:
                self._take(self._reader.poll(_POLL))
            except ConnectError as e:
                log.debug("Cannot read the control records now: %s", e)
                time.sleep(_PAUSE)

    def _take(self, entries: Sequence[Entry]) -> None:
        for key, value in entries:
            if key == self._control_key:
                control = Control.of(value)
                self._apply(self._target.after(control))
                self._compare_reset(control)
                self._follow_log_level(control)
            elif key == self._report_key and self._live:
                self._compare(Report.of(value))

    def _apply(self, target: TargetState) -> None:
        if target != self._target:
            log.info("Target state is %s (generation %d)", target.state, target.generation)
        self._target = target
        if target.state is TaskState.PAUSED:
            self._paused.set()
        else:
            self._paused.clear()
        self._reports.target(target)

    def _compare_reset(self, control: Control | None) -> None:
        """Handle a reset other than the last one. A record without one is ignored."""
        if control is None or control.connector_uid != self._identity.connector_uid:
            return
        if control.topics_reset is not None and control.topics_reset != self._topics_reset:
            self._topics_reset = control.topics_reset
            self._forget_topics()

    def _follow_log_level(self, control: Control | None) -> None:
        """Log at the requested level. A level that this release does not know is ignored."""
        if control is not None and control.connector_uid != self._identity.connector_uid:
            return
        try:
            level = LogLevels.parse("" if control is None else control.log_level or "").of(self._task)
        except ValueError:
            level = None
        if level != self._log_level:
            self._log_level = level
            self._set_log_level(level)
            log.warning("Log level is %s", level or "that of the release")

    def _compare(self, report: Report | None) -> None:
        """Handle a report under this task's key from another incarnation, which may be an earlier or a later one."""
        if report is None:
            return
        own, other = order(self._identity), order(report)
        if other < own:
            self._reports.write_again()
        elif other > own and report.epoch == self._identity.epoch:
            self._superseded()


def _reset_in(entries: Sequence[Entry], connector: str, identity: PodIdentity) -> str | None:
    """Return the last reset of the active topics that the operator had read; its list of topics is newer than that."""
    control = Control.of(dict(entries).get(control_key(connector)))
    return control.topics_reset if control is not None and control.connector_uid == identity.connector_uid else None


def order(incarnation: PodIdentity | Report) -> tuple[PlanEpoch, int]:
    """Return the rank of an incarnation among those of its task; an earlier one has a smaller rank."""
    return incarnation.epoch, incarnation.incarnation
