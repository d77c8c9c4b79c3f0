"""Where a sink task stands in each partition, and what of that is final and known to its group."""

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
from penstock_runtime.pipeline.retry import BATCH_BACKOFF, wait
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.asked import Asked
from penstock_runtime.sink.commit_schedule import CommitSchedule
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.foreign_commits import ForeignCommits
from penstock_runtime.sink.paused_partitions import PausedPartitions

__all__ = ["SinkOffsets"]

log = logging.getLogger(__name__)
_NONE: Final = "consumer.override.auto.offset.reset=none"
_DO: Final = (
    "Set it to earliest or latest, or set the group's offsets (kafka-consumer-groups.sh --reset-offsets), then restart."
)
_AGAIN: Final = 600.0
"""A group without members loses each offset offsets.retention.minutes after its commit, seven days by default; one that
was Kafka Connect's loses all of them at once so long after Kafka Connect left it."""
_SOON: Final = 60.0
_NAMED: Final = 3
"""So many members are named."""
_BRIEF: Final = 0.1
"""Seconds that `Sink.commit` may take before another look for a newer incarnation is due."""


class SinkOffsets:
    """Positions, commits, and the messages of writers that the next commit takes.

    Offsets go to the group after `Sink.commit` has made what lies before them final, never before, and only while `fence`
    knows of no newer incarnation: every method that commits, or may, also raises Superseded.

    Args:
        sets_back: whether a partition that the sink pauses is read again from what it let be committed last.
        asked: what the sink has asked for.
        settle: waits for dead letters of records that the sink has handed back; nothing is committed before.
        commits: whether offsets are committed here; otherwise the sink does it, as a member of the group.
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
        asked: Asked | None = None,
        settle: Callable[[], None] = lambda: None,
        commits: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sink = sink
        self._pauses = pauses or PausedPartitions()
        self._sets_back = sets_back
        self._asked = asked or Asked()
        self._settle = settle
        self._commits = commits
        self.held: frozenset[TopicPartition] = frozenset()
        """Partitions that are neither read nor planned, because the sink has paused them."""
        self._held_more = False
        self._sought: set[TopicPartition] = set()
        """Partitions that the sink has set since the batch began, which is read from elsewhere."""
        self._fence = fence
        self._consumer = consumer
        self._reports = reports
        self._stopping = stopping
        self._clock = clock
        self.positions: dict[TopicPartition, int | None] = {}
        """The next offset of each partition; None where `auto.offset.reset` says where to begin."""
        self._ends: dict[TopicPartition, int] = {}
        self._marked: set[TopicPartition] = set()
        """Partitions with offsets that are no records, as the markers at the end of transactions are."""
        self._committed: dict[TopicPartition, int] = {}
        """What the group holds, as far as that is known."""
        self._rewinds: dict[TopicPartition, int] = {}
        """Where reading goes on after a failure: at what the sink let be committed last, else where it began."""
        self._begun: dict[TopicPartition, int] = {}
        """Where `auto.offset.reset` began, of partitions whose group does not know it yet: that is not the sink's to say."""
        self._messages: list[Any] = []
        self._opened = False
        self._schedule = CommitSchedule(interval, longest, clock())
        self._foreign = ForeignCommits(consumer, clock)
        self._warned: set[TopicPartition] = set()
        """Partitions of which the sink returned offsets that it was not given: each is logged once."""
        self._anew_at = clock() + _AGAIN
        self._failing = False
        self._patient = True

    def read(self, consumed: Sequence[Consumed]) -> None:
        """These come next."""
        self._sought.clear()
        for part in consumed:
            position = self.positions.get(part.source)
            self._rewinds.setdefault(part.source, part.offset[0])
            if position is not None and part.offset[0] > position:
                self._marked.add(part.source)

    def lag(self, partition: TopicPartition, low: int, high: int) -> int:
        """How many records lie between the position and the end. The marker of the last transaction is none of them."""
        position = self.positions[partition]
        if position is None:
            position = self._ends.get(partition, low)
        offsets = max(0, high - position)
        return 0 if offsets == 1 and partition in self._marked else offsets

    def lag_to(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return how many records are not written yet up to these ends, of each partition of which a beginning is known.

        Raises:
            KeyError: a partition has no end.
        """
        starts = {of: self._rewinds.get(of) if at is None else at for of, at in dict(self.positions).items()}
        return {of: self.lag(of, start, ends[of]) for of, start in starts.items() if start is not None}

    def wrote(self, summary: Summary) -> None:
        """A batch was written up to its offsets."""
        for topic, partition, offset in summary.offsets:
            of = TopicPartition(topic, partition)
            if of not in self.held and of not in self._sought:  # else it was set back while Spark's workers wrote
                self.positions[of] = offset
        self._messages.extend(summary.messages)

    def at_end(self, ends: Mapping[TopicPartition, int]) -> None:
        """Nothing more lies before these offsets: markers of transactions at the end are no records."""
        for partition, end in ends.items():
            position = self.positions.get(partition)
            if position is not None and position < end:
                self.positions[partition] = end
                self._marked.add(partition)
            elif position is None:
                self._ends[partition] = end

    @property
    def places(self) -> dict[TopicPartition, int | None]:
        """Where reading goes on: the positions, and for a partition that no record has moved yet the end that was seen.

        Without that end a partition that began at its end (`auto.offset.reset=latest`) would begin at a later end each time.
        """
        return {tp: self._ends.get(tp) if o is None else o for tp, o in self.positions.items() if tp not in self.held}

    def hold(self) -> bool:
        """Act on what the sink has paused, resumed and set since the last call.

        Returns:
            Whether other partitions are to be read than before.

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
        """Go where the sink wants to go on."""
        wanted = {tp: o for tp, o in self._asked.take_positions().items() if tp in self.positions}
        for tp, offset in wanted.items():
            if offset is not None:
                self._rewinds[tp] = offset
            self.positions[tp] = self._rewinds.get(tp)
            log.info("The sink has set %s-%d to offset %s", *tp, self.positions[tp])
        self._sought.update(wanted)
        return bool(wanted)

    def _hold_paused(self) -> None:
        """Set what is paused back to where the sink let it be committed last, so that what it holds comes again.

        At once after `Sink.commit`: asked again, the sink is not to be given the offsets that it has refused.
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
        """Begin with new partitions, where the sink stored offsets with its data, else where the group stands.

        Args:
            partitions: these.
            first: of a topic that was created again; an offset of the group there is one of the topic before.
            grown: of a topic that had fewer partitions at the last look: all that they hold has come since.

        Raises:
            ConnectError: the group has members, so that another program runs this connector; or neither the group nor
                `auto.offset.reset` says where to begin.
        """
        if self.positions:
            self.commit()
        self._fence.check()
        if self._commits:
            self._refuse_members()
        committed = {**self._consumer.committed(partitions), **dict.fromkeys(first, 0)}
        if (
            committed and self._commits
        ):  # as it has them; refused when it has members, which may not be asked everywhere
            self._consumer.commit(committed)
        # Found out now, not when reading begins: what comes to a task that is paused, or is lost before its first record,
        # is no record of before.
        unknown = {tp for tp in partitions if tp not in committed} if self._consumer.reset == "latest" else set()
        ends = {**self._consumer.ends(unknown.difference(grown)), **dict.fromkeys(unknown.intersection(grown), 0)}
        stored = self._open(partitions)
        starts = {tp: stored.get(tp, committed.get(tp)) for tp in partitions}
        nowhere = [tp for tp, offset in starts.items() if offset is None]
        if nowhere and self._consumer.reset == "none":
            names = ", ".join(f"{t}-{p}" for t, p in nowhere)
            raise ConnectError(
                f"Undefined offset with no reset policy for partitions: [{names}] (NoOffsetForPartition): "
                f"group '{self._consumer.group}' has committed none there, and {_NONE} begins nowhere by itself. {_DO}"
            )
        begun = {tp: ends[tp] for tp in nowhere if tp in ends}
        if begun:
            self._schedule.hurry()  # the group is to know
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
        """Before anything is written twice."""
        members = self._consumer.members()
        if members:
            more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
            raise ConnectError(
                f"Group '{self._consumer.group}' has members: {', '.join(members[:_NAMED])}{more}. Another client runs this "
                f"connector (Kafka Connect, or another consumer). Stop it there first; a member that was killed leaves "
                f"after its session.timeout.ms."
            )

    def reopen(self) -> None:
        """After a batch of which it is not known how much was written: ask the sink, which may have offsets with its data.

        Where it has none, what it has not let be committed is read again, as in Kafka Connect: it may have held records back
        and drop them in `close`.

        Raises: as `commit`.
        """
        if self.pending:
            self.commit()
        if self._opened:
            self._opened = False  # where `open` asks to wait, what is closed is not closed again
            self._close(list(self.positions))
        stored = self._open(list(self.positions))
        for tp, position in self.positions.items():
            if position is not None and tp not in stored:
                self.positions[tp] = self._rewinds.get(tp)
        for tp, offset in stored.items():
            if tp in self.positions:
                if offset != self.positions[tp]:
                    log.info("The sink holds %s-%d up to offset %d; it is read from there", *tp, offset)
                self.positions[tp] = offset
        self._opened = True

    def out_of_range(self, partition: TopicPartition, offset: int) -> None:
        """Go on where `auto.offset.reset` says, and log what is gone: deleted by retention, or with the whole topic.

        Raises:
            ConnectError: it says `none`.
        """
        topic, number = partition
        low, high = self._consumer.bounds([partition])[partition]
        if low <= offset <= high:  # it was, a moment ago
            return
        held = f"the partition holds {low} to {high}" if low < high else f"the partition is empty, its end is {high}"
        if self._consumer.reset == "none":
            raise ConnectError(
                f"Offsets out of range with no configured reset policy for partitions: {{{topic}-{number}={offset}}} "
                f"(OffsetOutOfRange): {held}, and {_NONE} skips nothing by itself. {_DO}"
            )
        to = low if self._consumer.from_beginning else high
        log.warning(
            "%s-%d has no offset %d: %s. Reading goes on from there at %d (auto.offset.reset=%s); %d offsets are gone, and "
            "%d that are there are passed over",
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
        """Drop partitions that are gone, after the sink has flushed what it has of them.

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
        """The sink writes no more."""
        if self.positions and self._opened:
            self._close(list(self.positions))

    def _close(self, partitions: list[TopicPartition]) -> None:
        self._pauses.closed(partitions)
        self._sink.close(partitions)

    @property
    def pending(self) -> bool:
        """Whether there is something to commit."""
        return bool(self._messages) or self._schedule.open(self.positions, self._committed)

    def commit_if_due(self) -> None:
        """Commit what is due, and what idle partitions stand at anew. Raises as `commit`."""
        if self._asked.take_commit() or self._schedule.due(
            self._clock(), self.positions, self._committed, messages=bool(self._messages), asking=bool(self.held)
        ):
            self.commit()
        self._commit_anew()

    def keep_alive(self) -> None:
        """Commit the same offsets again now and then, so that the group keeps them while nothing new can be committed.

        Raises:
            Superseded: a newer incarnation keeps them.
        """
        if self._stopping.is_set():
            return
        self._fence.look()
        try:
            self._commit_anew()
        except Superseded:
            raise
        except ConnectError as e:
            self._anew_at = self._clock() + _SOON
            log.warning("Offsets could not be committed anew, which is tried again in a minute: %s", e)

    def _commit_anew(self) -> None:
        now = self._clock()
        if now >= self._anew_at and self._committed and self._commits:
            self._fence.check()
            self._foreign.look(self._committed, self._committed)
            self._consumer.commit(self._committed)
            self._anew_at = now + _AGAIN

    def commit(self, *, without: Collection[TopicPartition] = ()) -> None:
        """Make what was written final, and commit its offsets to the group, except of partitions that are gone.

        Raises:
            RetriableError: Kafka did not answer, or the task is to stop while the sink asks to wait.
            ConnectError: the sink or the group refuses.
        """
        self._held_more = self._seek() or self._held_more  # first: what the sink gives up is not to be committed
        reached = {tp: o for tp, o in self.positions.items() if o is not None}
        self._failing = True  # until it has not
        self._fence.check()
        begun = self._clock()
        before, messages = dict(self._committed), bool(self._messages)
        self._settle()
        allowed = self._final(reached)
        self._messages = []
        self._settle()  # what was handed back meanwhile
        beyond = [tp for tp, offset in allowed.items() if tp not in reached or offset > reached[tp]]
        self._warn(beyond, allowed)
        sound = {**self._begun, **{tp: o for tp, o in allowed.items() if tp not in beyond}}
        good = {tp: o for tp, o in sound.items() if tp not in without and self._committed.get(tp) != o}
        if good and self._commits:
            if self._clock() - begun > _BRIEF:
                self._fence.check()
            self._foreign.look(self._committed, good)
            for tp in good:  # until it is answered, and where it fails, what the group holds is not known
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
                    "The sink wants to commit %s-%d at %d, which it was not given; ignored, and not logged again. Tell the "
                    "plugin's author",
                    *tp,
                    allowed[tp],
                )
        self._warned = {*beyond, *(self._warned - allowed.keys())}

    def commit_at_the_end(self, *, failed: bool) -> None:
        """On the way out: what was written need not come again, though nothing is lost where it does.

        Args:
            failed: the task has failed: a sink that asks to wait is not waited for, and where committing is what failed, it
                is not tried again.

        Raises:
            Superseded: what was written is another's to commit.
        """
        if failed and self._failing:
            return
        self._patient = not failed
        try:
            if self.pending:
                self.commit()
        except Superseded:
            raise
        except Exception as e:  # noqa: BLE001 (after a failure, its error is the one to report)
            log.warning("Offsets of what was written could not be committed; it will be written again: %s", e)

    def _final(self, reached: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """`Sink.commit`, with the same arguments until it does not ask to wait; on the way out once."""
        attempt = 0
        while True:
            try:
                allowed = self._sink.commit(self._messages, reached)
                return returned.positions(allowed, returned.name(self._sink, "commit"))
            except RetriableError as e:
                if self._stopping.is_set() or not self._patient:
                    raise
                attempt += 1
                log.warning("Commit is tried again (attempt %d): %s", attempt, e)
                self._reports.trouble(f"commit is tried again (attempt {attempt}): {e}")
                self.keep_alive()
                wait(e.retry_after or BATCH_BACKOFF.pause(attempt), self._stopping)
