"""Positions of a sink task in its partitions, and the offsets that are final and committed to its group."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from penstock import _returned as returned
from penstock.errors import ConnectError, RetriableError, Superseded
from penstock.sink import Sink, TopicPartition
from penstock_kafka.watermarks import names_of
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.pipeline.task_retry import BATCH_BACKOFF, wait
from penstock_runtime.sink.commit_schedule import CommitSchedule
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.foreign_commits import ForeignCommits
from penstock_runtime.sink.paused_partitions import PausedPartitions
from penstock_runtime.sink.plugin_requests import PluginRequests

__all__ = ["SinkOffsets"]

log = logging.getLogger(__name__)
_NONE: Final = "consumer.override.auto.offset.reset=none"
_DO: Final = (
    "Set it to earliest or latest, or set the group's offsets (kafka-consumer-groups.sh --reset-offsets), then restart."
)
_AGAIN: Final = 600.0
"""Seconds between commits of unchanged offsets. A group without members loses each offset offsets.retention.minutes after
its commit, seven days by default; a group of Kafka Connect loses all offsets together that long after Connect left it."""
_SOON: Final = 60.0
_NAMED: Final = 3
"""Maximum number of members to name in a message."""
_BRIEF: Final = 0.1
"""Seconds that `Sink.commit` may take before the task must check again for a newer incarnation."""


class SinkOffsets:
    """Positions, commits, and the messages of writers for the next commit.

    Offsets are committed to the group only after `Sink.commit` has made the records before them final, and only while
    `fence` knows of no newer incarnation: every method that may commit can also raise Superseded.

    Args:
        sets_back: whether a partition that the sink pauses is read again from its last commit.
        asked: requests of the sink.
        settle: waits for dead letters of records that the sink has reported; nothing is committed before.
        commits: whether to commit offsets here; otherwise the sink commits them as a member of the group.
    """

    def __init__(
        self,
        sink: Sink,
        consumer: RecordConsumer,
        reports: Reports,
        *,
        fence: SinkFence,
        stopping: threading.Event,
        interval: float,
        longest: float,
        pauses: PausedPartitions | None = None,
        sets_back: bool = True,
        asked: PluginRequests | None = None,
        settle: Callable[[], None] = lambda: None,
        commits: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sink = sink
        self._pauses = pauses or PausedPartitions()
        self._sets_back = sets_back
        self._asked = asked or PluginRequests()
        self._settle = settle
        self._commits = commits
        self.held: frozenset[TopicPartition] = frozenset()
        """Partitions that are neither read nor planned, because the sink has paused them."""
        self._held_more = False
        self._sought: set[TopicPartition] = set()
        """Partitions that the sink has set to other positions since the batch began."""
        self._fence = fence
        self._consumer = consumer
        self._reports = reports
        self._stopping = stopping
        self._clock = clock
        self.positions: dict[TopicPartition, int | None] = {}
        """Next offset of each partition; None if `auto.offset.reset` decides where to start."""
        self._ends: dict[TopicPartition, int] = {}
        self._marked: set[TopicPartition] = set()
        """Partitions with offsets that are not records, such as transaction markers."""
        self._committed: dict[TopicPartition, int] = {}
        """Committed offsets of the group, as far as known."""
        self._rewinds: dict[TopicPartition, int] = {}
        """Offsets to resume at after a failure: the last commit that the sink allowed, else where reading started."""
        self._begun: dict[TopicPartition, int] = {}
        """Offsets chosen by `auto.offset.reset` that are not in the group yet; they do not depend on the sink."""
        self._messages: list[Any] = []
        self._opened = False
        self._schedule = CommitSchedule(interval, longest, clock())
        self._foreign = ForeignCommits(consumer, clock)
        self._warned: set[TopicPartition] = set()
        """Partitions for which the sink returned offsets that it was not given: each is logged once."""
        self._recommit_at = clock() + _AGAIN
        self._failing = False
        self._patient = True

    def read(self, consumed: Sequence[Consumed]) -> None:
        """Record that these records are about to be written."""
        self._sought.clear()
        for part in consumed:
            position = self.positions.get(part.source)
            self._rewinds.setdefault(part.source, part.offset[0])
            if position is not None and part.offset[0] > position:
                self._marked.add(part.source)

    def lag(self, partition: TopicPartition, low: int, high: int) -> int:
        """Return the number of records between position and end. The marker of the last transaction does not count."""
        position = self.positions[partition]
        if position is None:
            position = self._ends.get(partition, low)
        offsets = max(0, high - position)
        return 0 if offsets == 1 and partition in self._marked else offsets

    def lag_to(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return how many records up to these ends are not written yet, for each partition with a known start.

        Raises:
            KeyError: a partition has no end.
        """
        starts = {of: self._rewinds.get(of) if at is None else at for of, at in dict(self.positions).items()}
        return {of: self.lag(of, start, ends[of]) for of, start in starts.items() if start is not None}

    def wrote(self, summary: Summary) -> None:
        """Record that a batch was written up to its offsets."""
        for topic, partition, offset in summary.offsets:
            of = TopicPartition(topic, partition)
            if of not in self.held and of not in self._sought:  # otherwise it was set back while Spark's workers wrote
                self.positions[of] = offset
        self._messages.extend(summary.messages)

    def at_end(self, ends: Mapping[TopicPartition, int]) -> None:
        """Record that no more records are before these offsets: transaction markers are not records."""
        for partition, end in ends.items():
            position = self.positions.get(partition)
            if position is not None and position < end:
                self.positions[partition] = end
                self._marked.add(partition)
            elif position is None:
                self._ends[partition] = end

    @property
    def places(self) -> dict[TopicPartition, int | None]:
        """Offsets to read next: the positions, and for a partition without a position its known end.

        Without it, a partition that starts at its end (`auto.offset.reset=latest`) would start at a later end each time.
        """
        return {tp: self._ends.get(tp) if o is None else o for tp, o in self.positions.items() if tp not in self.held}

    def hold(self) -> bool:
        """Apply the pauses, resumes and seeks that the sink has requested since the last call.

        Returns:
            Whether the partitions to read have changed.

        Raises: as `commit`.
        """
        if self._pauses.wanted - self.held and self.pending:
            self.commit()
        self._hold_paused()
        changed, self._held_more = self._seek() or self._held_more, False
        self._sought.clear()
        resumed = self.held - self._pauses.wanted
        if resumed:
            log.info("The sink has resumed %s", names_of(sorted(resumed)))
            self.held -= resumed
        return changed or bool(resumed)

    def _seek(self) -> bool:
        """Set the positions that the sink has requested."""
        wanted = {tp: o for tp, o in self._asked.take_positions().items() if tp in self.positions}
        for tp, offset in wanted.items():
            if offset is not None:
                self._rewinds[tp] = offset
            self.positions[tp] = self._rewinds.get(tp)
            log.info("The sink has set %s-%d to offset %s", *tp, self.positions[tp])
        self._sought.update(wanted)
        return bool(wanted)

    def _hold_paused(self) -> None:
        """Set paused partitions back to the last commit that the sink allowed, so that unwritten records are read again.

        Called directly after `Sink.commit`: the next call must not pass offsets to the sink that it has rejected.
        """
        self._pauses.holding(self.held)
        paused = [tp for tp in sorted(self._pauses.wanted - self.held) if tp in self.positions]
        if not paused:
            return
        log.info("The sink has paused %s", names_of(paused))
        for tp in paused:
            if self._sets_back and self.positions[tp] is not None:
                self.positions[tp] = self._rewinds.get(tp)
        self.held |= set(paused)
        self._pauses.holding(paused)
        self._held_more = True

    def assign(
        self,
        partitions: Sequence[TopicPartition],
        *,
        first: Collection[TopicPartition] = (),
        grown: Collection[TopicPartition] = (),
    ) -> None:
        """Start to read new partitions: at offsets that the sink stored with its data, else at the group's offsets.

        Args:
            partitions: new partitions.
            first: partitions of a topic that was created again; the group's offsets belong to the deleted topic.
            grown: partitions of a topic that had fewer partitions at the last check: all of their records are new.

        Raises:
            ConnectError: the group has members, so another program runs this connector; or neither the group nor
                `auto.offset.reset` decides where to start.
        """
        if self.positions:
            self.commit()
        self._fence.check()
        if self._commits:
            self._refuse_members()
        committed = {**self._consumer.committed(partitions), **dict.fromkeys(first, 0)}
        if committed and self._commits:
            # This fails if the group has members, which not every cluster lets us list.
            self._consumer.commit(committed)
        # Look up ends now, not when reading starts: records that arrive while the task is paused, or before it has read
        # its first record, are new.
        unknown = {tp for tp in partitions if tp not in committed} if self._consumer.reset == "latest" else set()
        ends = {**self._consumer.ends(unknown.difference(grown)), **dict.fromkeys(unknown.intersection(grown), 0)}
        stored = self._open(partitions)
        starts = {tp: stored.get(tp, committed.get(tp)) for tp in partitions}
        nowhere = [tp for tp, offset in starts.items() if offset is None]
        if nowhere and self._consumer.reset == "none":
            names = ", ".join(f"{t}-{p}" for t, p in nowhere)
            raise ConnectError(
                f"Undefined offset with no reset policy for partitions: [{names}] (NoOffsetForPartition): "
                f"group '{self._consumer.group}' has committed none there, and {_NONE} does not choose a start. {_DO}"
            )
        begun = {tp: ends[tp] for tp in nowhere if tp in ends}
        if begun:
            self._schedule.hurry()  # commit the start to the group
        starts.update(begun)
        self._opened = True
        self._begun.update(begun)
        self._committed.update(committed)
        self._rewinds.update({**{tp: o for tp, o in starts.items() if o is not None}, **committed})
        self.positions.update(starts)

    def _open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._pauses.opening(partitions)
        return returned.positions(self._sink.open(partitions), returned.name(self._sink, "open"))

    def _refuse_members(self) -> None:
        """Raise an error if the group has members, before anything is written twice."""
        members = self._consumer.members()
        if members:
            more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
            raise ConnectError(
                f"cannot read new partitions: group '{self._consumer.group}' has members: "
                f"{', '.join(members[:_NAMED])}{more}. Another client runs this connector (Kafka Connect, or another "
                f"consumer); stop it there first. A member that was killed leaves after its session.timeout.ms"
            )

    def reopen(self) -> None:
        """Ask the sink for its positions after a batch of unknown outcome; it may have stored offsets with its data.

        For other partitions, read again from the last commit that the sink allowed, as Kafka Connect does: the sink may have
        buffered records, and drop them in `close`.

        Raises: as `commit`.
        """
        if self.pending:
            self.commit()
        if self._opened:
            self._opened = False  # if `open` asks to wait, do not close a second time
            self._close(list(self.positions))
        stored = self._open(list(self.positions))
        for tp, position in self.positions.items():
            if position is not None and tp not in stored:
                self.positions[tp] = self._rewinds.get(tp)
        for tp, offset in stored.items():
            if tp in self.positions:
                if offset != self.positions[tp]:
                    log.info("The sink has stored %s-%d up to offset %d; reading resumes there", *tp, offset)
                self.positions[tp] = offset
        self._opened = True

    def out_of_range(self, partition: TopicPartition, offset: int) -> None:
        """Resume at the offset that `auto.offset.reset` selects, and log the records lost to retention or topic deletion.

        Raises:
            ConnectError: `auto.offset.reset` is `none`.
        """
        topic, number = partition
        low, high = self._consumer.bounds([partition])[partition]
        if low <= offset <= high:  # it was out of range a moment ago
            return
        held = (
            f"the partition holds {low} to {high}" if low < high else f"the partition is empty, and its end is {high}"
        )
        if self._consumer.reset == "none":
            raise ConnectError(
                f"Offsets out of range with no configured reset policy for partitions: {{{topic}-{number}={offset}}} "
                f"(OffsetOutOfRange): {held}, and {_NONE} skips no offsets. {_DO}"
            )
        to = low if self._consumer.from_beginning else high
        log.warning(
            "%s-%d has no offset %d: %s. Reading continues at %d (auto.offset.reset=%s); %d offsets are gone, and "
            "%d existing ones are skipped",
            topic,
            number,
            offset,
            held,
            to,
            self._consumer.reset,
            max(0, low - offset),
            max(0, to - max(low, offset)),
        )
        self.positions[partition] = self._rewinds[partition] = self._begun[partition] = to

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Drop partitions that no longer exist, after the sink has flushed their records.

        Raises: as `commit`.
        """
        if self.pending:
            self.commit(without=partitions)
        self._close(list(partitions))
        for tp in partitions:
            del self.positions[tp]
            for known in (self._committed, self._rewinds, self._begun, self._ends):
                known.pop(tp, None)
            self._marked.discard(tp)

    def close(self) -> None:
        """Close all partitions of the sink."""
        if self.positions and self._opened:
            self._close(list(self.positions))

    def _close(self, partitions: list[TopicPartition]) -> None:
        self._pauses.closed(partitions)
        self._sink.close(partitions)

    @property
    def pending(self) -> bool:
        """Return whether there is anything to commit."""
        return bool(self._messages) or self._schedule.open(self.positions, self._committed)

    def commit_if_due(self) -> None:
        """Commit offsets that are due, and commit those of idle partitions again. Raises as `commit`."""
        if self._asked.take_commit() or self._schedule.due(
            self._clock(), self.positions, self._committed, messages=bool(self._messages), asking=bool(self.held)
        ):
            self.commit()
        self._recommit()

    def keep_alive(self) -> None:
        """Commit unchanged offsets periodically, so that they do not expire while nothing new can be committed.

        Raises:
            Superseded: a newer incarnation exists.
        """
        if self._stopping.is_set():
            return
        self._fence.look()
        try:
            self._recommit()
        except Superseded:
            raise
        except ConnectError as e:
            self._recommit_at = self._clock() + _SOON
            log.warning("Cannot renew committed offsets, which would expire otherwise; retrying in a minute: %s", e)

    def _recommit(self) -> None:
        now = self._clock()
        if now >= self._recommit_at and self._committed and self._commits:
            self._fence.check()
            self._foreign.look(self._committed, self._committed)
            self._consumer.commit(self._committed)
            self._recommit_at = now + _AGAIN

    def commit(self, *, without: Collection[TopicPartition] = ()) -> None:
        """Make written records final, and commit their offsets to the group, except for deleted partitions.

        Raises:
            RetriableError: Kafka did not answer, or the task stops while the sink asks to wait.
            ConnectError: the sink or the group refuses.
        """
        # First apply seeks: records that the sink wants to read again must not be committed.
        self._held_more = self._seek() or self._held_more
        reached = {tp: o for tp, o in self.positions.items() if o is not None}
        self._failing = True  # until the commit succeeds
        self._fence.check()
        begun = self._clock()
        before, messages = dict(self._committed), bool(self._messages)
        self._settle()
        allowed = self._final(reached)
        self._messages = []
        self._settle()  # for records that the sink has reported during the commit
        beyond = [tp for tp, offset in allowed.items() if tp not in reached or offset > reached[tp]]
        self._warn(beyond, allowed)
        sound = {**self._begun, **{tp: o for tp, o in allowed.items() if tp not in beyond}}
        good = {tp: o for tp, o in sound.items() if tp not in without and self._committed.get(tp) != o}
        if good and self._commits:
            if self._clock() - begun > _BRIEF:
                self._fence.check()
            self._foreign.look(self._committed, good)
            for tp in good:  # until the commit is answered, and if it fails, the group's offsets are unknown
                self._committed.pop(tp, None)
            self._consumer.commit(good)
            self._committed.update(good)
            self._rewinds.update(good)
            for tp in good:
                self._begun.pop(tp, None)
        self._schedule.done(self._clock(), reached, before, messages=messages, beyond=beyond)
        self._hold_paused()
        self._failing = False
        self._reports.committed()

    def _warn(self, beyond: Collection[TopicPartition], allowed: Mapping[TopicPartition, int]) -> None:
        for tp in beyond:
            if tp not in self._warned:
                log.warning(
                    "Ignoring a commit of the sink: %s-%d at offset %d, which it was not given. This is not logged again; "
                    "tell the plugin's author",
                    *tp,
                    allowed[tp],
                )
        self._warned = {*beyond, *(self._warned - allowed.keys())}

    def commit_at_the_end(self, *, failed: bool) -> None:
        """Commit before the task ends, so that written records need not be written again; a failure loses nothing.

        Args:
            failed: whether the task has failed: then do not wait for a sink that asks to wait, and do not retry a commit
                that has failed.

        Raises:
            Superseded: a newer incarnation commits what was written.
        """
        if failed and self._failing:
            return
        self._patient = not failed
        try:
            if self.pending:
                self.commit()
        except Superseded:
            raise
        except Exception as e:  # noqa: BLE001 (it must not replace the error of a failed task)
            log.warning("Cannot commit the offsets of written records, which will be written again: %s", e)

    def _final(self, reached: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Call `Sink.commit` with the same arguments until it no longer asks to wait; only once when the task ends."""
        attempt = 0
        while True:
            try:
                allowed = self._sink.commit(self._messages, reached)
                return returned.positions(allowed, returned.name(self._sink, "commit"))
            except RetriableError as e:
                if self._stopping.is_set() or not self._patient:
                    raise
                attempt += 1
                log.warning("Retrying the commit (attempt %d): %s", attempt, e)
                self._reports.trouble(f"commit is retried (attempt {attempt}): {e}")
                self.keep_alive()
                wait(e.retry_after or BATCH_BACKOFF.pause(attempt), self._stopping)
