"""Sink for a Java sink task: passes records to the task in the JVM, and commits the offsets that the task allows."""

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from penstock.batch import RecordBatch
from penstock.context import PluginContext
from penstock.errors import ConnectError, RetriableError
from penstock.record import Original, Record
from penstock.sink import Reporter, Sink, SinkTaskContext, TopicPartition, Writer
from penstock_runtime.java_plugins.connection import Connection
from penstock_runtime.java_plugins.group_sinks import GroupMembership
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded, exception_of
from penstock_runtime.java_plugins.record_writer import RecordWriter
from penstock_runtime.java_plugins.task import JavaTask
from penstock_runtime.process.liveness import LOOP

__all__ = ["JavaSink", "JavaWriter"]

log = logging.getLogger(__name__)
_LOST: Final = "records that were not committed are delivered again"
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
"""Maximum seconds between two calls of put() without records, as in Kafka Connect (`offset.flush.interval.ms`)."""
_UNKNOWN: Final = 300.0
"""Timeout of a call in seconds, if no task loop runs."""

_DOING: Final = {
    "open": "open the partitions of",
    "put": "write to",
    "preCommit": "commit the offsets of",
    "close": "close the partitions of",
}
"""Descriptions of a task's methods, for messages."""


class JavaSink(Sink):
    """Java sink task.

    Its methods are called in one thread of the JVM, in Kafka Connect's order. Requests of the task to its context arrive in
    the thread that reads messages, during a call or at any other time.

    Args:
        host: the JVM.
        location, class_name: location and class of the connector.
        properties: properties of the task.
        context: context of the plugin.
        membership: membership in the connector's consumer group; None: the task needs none.
    """

    def __init__(
        self,
        host: Connection,
        location: str,
        class_name: str,
        properties: Mapping[str, str],
        context: PluginContext,
        membership: GroupMembership | None = None,
    ) -> None:
        self._host = host
        self._task = JavaTask(host, location, class_name, properties, context)
        self._context = SinkTaskContext("", 0, "")
        self._writer = RecordWriter()
        self._open: set[TopicPartition] = set()
        self._early: dict[TopicPartition, int] = {}
        """Positions that the task has set for partitions before they were opened."""
        self._timeout: float | None = None
        """Seconds until the next call, as requested by the task (`SinkTaskContext.timeout`)."""
        self._membership = membership
        self._is_rebalanced = False
        self._left: str | None = None
        """Reason why the task is no longer a member of its group."""
        self._pause = _FIRST_PAUSE
        self._put_at = 0.0

    def initialize(self, context: SinkTaskContext) -> None:
        """Keep the context, which receives the requests of the Java task."""
        self._context = context

    def start(self) -> None:
        """Start the task in the JVM."""
        self._task.epoch += 1
        self._writer = RecordWriter()
        self._host.on_task_request = self._take_request
        of = self._membership
        member = {"group": None} if of is None else {"group": of.group, "member": of.member, "clients": of.clients}
        self._task.start("start_sink", **member)

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Open partitions; return the positions that the task has set for them, or has committed itself."""
        self._is_rebalanced = False
        committed = self._call("open", partitions=[list(of) for of in partitions])
        self._open.update(partitions)
        self._awake()
        found = {TopicPartition(topic, partition): offset for topic, partition, offset in committed}
        return {**found, **{of: self._early.pop(of) for of in partitions if of in self._early}}

    def put(self, batches: Sequence[RecordBatch]) -> None:
        """Pass records to the task. A call without records lets the task do its periodic work.

        Raises:
            RetriableError: the task requests the same records again.
            ConnectError: the task failed, or does not return.
        """
        records = self._writer.message(batches)
        self._timeout = None
        try:
            self._call("put", records=records)
        except RetriableError as e:
            raise RetriableError(str(e), self._timeout) from None
        if batches:
            self._awake()

    def attend(self) -> None:
        """Call put() without records periodically, as Kafka Connect does: many tasks flush their buffers after some time."""
        self._task.check()
        self._task.guarded(_DOING["put"], self._host.check)
        if self._left is not None:
            raise ConnectError(f"cannot {_DOING['put']} {self._task.name}: {self._left}")
        if self._is_rebalanced:
            self._reopen()
        if not self._open or time.monotonic() < self._put_at:
            return
        try:
            self.put(())
        except RetriableError as e:
            log.warning("%s", e)
        pause = self._pause if self._timeout is None else self._timeout
        if self._membership is None:  # otherwise the tasks exchange messages in put(), and wait for each other
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._put_at = time.monotonic() + pause

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the offsets that `preCommit` returns. If it fails, rewind to the last commit, as in Kafka Connect."""
        positions = [[*of, offset] for of, offset in offsets.items()]
        try:
            allowed = self._answer("preCommit", positions=positions)
        except JvmEnded as e:
            raise e.during(f"cannot {_DOING['preCommit']} {self._task.name}") from None
        except JavaError as e:
            log.error(
                "Cannot commit the offsets of %s: its preCommit() failed; records since the last commit are delivered "
                "again:\n%s",
                self._task.name,
                e.trace.rstrip(),
            )
            self._context.seek(dict.fromkeys(self._open))
            return {}
        return {TopicPartition(topic, partition): offset for topic, partition, offset in allowed}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Close partitions."""
        self._open.difference_update(partitions)
        if self._host.is_open:
            self._call("close", partitions=[list(of) for of in partitions])
        for of in partitions:  # positions set since must not apply to the next opening
            self._early.pop(of, None)

    def stop(self) -> None:
        """Stop the task and its connector."""
        self._task.end(_LOST)

    def _reopen(self) -> None:
        """Close all partitions and reopen them, as Kafka Connect does when the group is rebalanced."""
        log.info("The consumer group was rebalanced; reopening the partitions of %s", self._task.name)
        partitions = sorted(self._open)
        self.close(partitions)
        found = self.open(partitions)
        self._context.seek({of: found.get(of) for of in partitions})

    def _awake(self) -> None:
        """Call put() without records soon, then at growing intervals."""
        self._pause = _FIRST_PAUSE
        self._put_at = time.monotonic() + (_FIRST_PAUSE if self._timeout is None else self._timeout)

    def _call(self, method: str, **arguments: Any) -> Any:
        return self._task.guarded(_DOING[method], lambda: self._answer(method, **arguments))

    def _answer(self, method: str, **arguments: Any) -> Any:
        """Call a method of the task, and kill the JVM if it does not return in time.

        Raises:
            JavaError: the method threw an exception.
            JvmEnded: the method does not return, or the JVM has ended.
        """
        limit = LOOP.call or _UNKNOWN
        try:
            return self._host.call(method, limit, **arguments)
        except JvmEnded as e:
            if not self._host.is_open:
                raise
            self._host.kill()
            raise JvmEnded(
                f"its {method}() has not returned within {limit:g} s, so its JVM was killed, and {_LOST}; if it needs "
                "longer, raise consumer.override.max.poll.interval.ms, or lower consumer.override.max.poll.records"
            ) from e

    def _take_request(self, epoch: int, what: str, arguments: Any) -> None:
        """Forward a request of the task to its context. Runs in the thread that reads messages."""
        if epoch != self._task.epoch:
            return
        try:
            match what:
                case "seek":
                    self._seek({TopicPartition(topic, partition): offset for topic, partition, offset in arguments})
                case "timeout":
                    self._timeout = arguments / 1000 if arguments > 0 else None
                case "pause":
                    self._context.pause(*(TopicPartition(*of) for of in arguments))
                case "resume":
                    self._context.resume(*(TopicPartition(*of) for of in arguments))
                case "commit":
                    self._context.request_commit()
                case "report":
                    self._report(*arguments)
                case "rebalanced":
                    self._is_rebalanced = True
                case "left":
                    self._left = arguments
                case _:
                    log.warning("Ignoring an unknown request of %s: %s", self._task.name, what)
        except ConnectError as e:
            log.warning("%s: %s", self._task.name, e)

    def _seek(self, to: Mapping[TopicPartition, int]) -> None:
        self._early.update({of: offset for of, offset in to.items() if of not in self._open})
        self._context.seek({of: offset for of, offset in to.items() if of in self._open})

    def _report(
        self, number: int, topic: str | None, partition: int, offset: int, thrown: Sequence[str | None]
    ) -> None:
        epoch = self._task.epoch
        original = None if topic is None else Original(topic, partition, offset)
        try:
            letter = self._context.report(Record(topic=topic, value=None, original=original), exception_of(*thrown))
        except ConnectError as e:
            self._host.reported(epoch, number, str(e))
            return
        letter.add_done_callback(lambda done: self._reported(epoch, number, done))

    def _reported(self, epoch: int, number: int, letter: "Future[None]") -> None:
        error = letter.exception()
        with suppress(JvmEnded):  # nothing waits for the result any more
            self._host.reported(epoch, number, None if error is None else str(error))


class JavaWriter(Writer):
    """Task side of a Java sink: passes batches to the driver side, which is in the same process."""

    def __init__(self, sink: JavaSink) -> None:
        self._sink = sink

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        """Pass the records of all partitions to put() in one call, as Kafka Connect does."""
        self._sink.put(batches)
