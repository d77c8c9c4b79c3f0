"""Reads a topic from its beginning and then on and on, outside of any consumer group."""

import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, NamedTuple, Self

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from penstock_operator.kafka.clients import admin_properties, consumer_properties
from penstock_operator.kafka.writer import Entry
from penstock_operator.settings import Worker

__all__ = ["Lost", "Place", "Reader"]

_ASK_SECONDS: Final = 10.0
"""More than `fetch.wait.max.ms`: a question may stand behind a request for records that there are none of."""
_POLL_SECONDS: Final = 1.0
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""Zero: a broker from before topics had ids."""
_MOST: Final = 1_000
_LOOK_EVERY: Final = 30.0
_LOOK_EVERY_IN_TROUBLE: Final = 2.0
_SILENCE: Final = 30.0
"""Seconds without an answer after which a new client asks. A broker that its controller takes for lost lists no brokers
until it is heard of again; librdkafka then forgets each one that it knew, and never connects again."""
_GONE: Final = frozenset(
    (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError.INCONSISTENT_TOPIC_ID,
        KafkaError.OFFSET_OUT_OF_RANGE,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 (librdkafka's own names of the codes)
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    )
)

Heard = Callable[[KafkaError | None], None]
"""Told of every error of the client, and with None of every sign that all is well. May raise `Lost`."""


class Place(NamedTuple):
    """Up to where a topic was read.

    Attributes:
        topic_id: Kafka's own.
        ends: by partition, the first offset that was not read.
    """

    topic_id: str
    ends: tuple[int, ...]


class Lost(Exception):
    """Begin anew, with a new client."""


class Reader:
    """A consumer of one topic. Used by one thread.

    Args:
        worker: how to connect.
        topic: which.
        stopping: ends every loop here.
        turn: called at least every few seconds while all is well.

    Raises:
        KafkaException: from each call here; whoever uses this tells of it and begins anew.
    """

    def __init__(self, worker: Worker, topic: str, stopping: threading.Event, turn: Callable[[], None]) -> None:
        self._topic = topic
        self._stopping = stopping
        self._turn = turn
        self._errors: list[KafkaError] = []
        self._cause: KafkaError | None = None
        self._kept: list[Message] = []
        self._consumer = Consumer(consumer_properties(worker, self._errors.append))
        self._worker = worker
        self._admin = AdminClient(admin_properties(worker))
        self._id: str | None = None
        self._ends: dict[int, int] = {}
        self._silent_since: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    @property
    def place(self) -> Place | None:
        """Up to where the records that were given have been taken; None: the broker tells no id of the topic."""
        if self._id is None or self._id == _NO_ID:
            return None
        return Place(self._id, tuple(self._ends[p] for p in sorted(self._ends)))

    def partitions(self, heard: Heard) -> list[int] | None:
        """Those of the topic; empty: there is no such topic; None: nobody answered.

        Raises:
            Lost: nobody has answered for so long that a new client must ask.
        """
        asked = time.monotonic()
        try:
            found = self._consumer.list_topics(self._topic, timeout=_ASK_SECONDS).topics[self._topic]
        except KafkaException as e:
            self._pass_on(heard, e.args[0])
            self._silent_since = asked if self._silent_since is None else self._silent_since
            if time.monotonic() - self._silent_since > _SILENCE:
                raise Lost(f"nobody has answered for {_SILENCE:.0f} s") from e
            return None
        self._silent_since = None
        if found.error is None:
            self._well(heard)
            return sorted(found.partitions)
        if found.error.code() in _GONE:
            self._well(heard)
            return []
        heard(found.error)
        return None

    def all_of(self, partitions: list[int], heard: Heard) -> Iterator[Entry]:
        """Every record up to the end that each partition has when it is reached."""
        self._id = self._topic_id()
        self._consumer.assign([TopicPartition(self._topic, p, OFFSET_BEGINNING) for p in partitions])
        self._ends = dict.fromkeys(partitions, 0)
        left = set(partitions)
        asked = time.monotonic()
        while left and not self._stopping.is_set():
            messages = self._poll()
            for message in messages:
                error = message.error()
                if error is None:
                    yield from self._entry(message)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    left.discard(message.partition() or 0)
                    self._ends[message.partition() or 0] = message.offset() or 0
                else:
                    self._check(error, heard)
            self._turn()
            if messages:
                asked = time.monotonic()
            else:
                self._pass_on(heard)
                if time.monotonic() - asked > _LOOK_EVERY_IN_TROUBLE:
                    self._look(partitions, heard)
                    asked = time.monotonic()

    def news(self, partitions: list[int], heard: Heard) -> Iterator[Entry]:
        """Every record that comes after `all_of`."""
        asked = time.monotonic()
        is_well = True
        while not self._stopping.is_set():
            for message in self._poll():
                error = message.error()
                if error is None:
                    yield from self._entry(message)
                elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    self._check(error, heard)
            is_well = self._pass_on(heard) and is_well
            self._turn()
            if time.monotonic() - asked > (_LOOK_EVERY if is_well else _LOOK_EVERY_IN_TROUBLE):
                is_well = self._look(partitions, heard)
                asked = time.monotonic()

    def _entry(self, message: Message) -> Iterator[Entry]:
        key = message.key()
        if key is not None:
            yield bytes(key), message.value()
        # Not before whoever reads this has taken the record. An offset may be less than one before, where a broker that
        # had not all of the log became its leader.
        self._ends[message.partition() or 0] = (message.offset() or 0) + 1

    def _poll(self) -> list[Message]:
        kept, self._kept = self._kept, []
        if kept:
            return kept
        first = self._consumer.poll(_POLL_SECONDS)
        return [] if first is None else [first, *self._consumer.consume(_MOST, 0)]

    def _serve(self) -> None:
        """Have the client tell its errors, which it does only when it is asked for a record."""
        message = self._consumer.poll(0)
        if message is not None:
            self._kept.append(message)

    def _look(self, partitions: list[int], heard: Heard) -> bool:
        """Whether brokers answer, and the topic is what it was."""
        found = self.partitions(heard)
        if found is None:
            return False
        if found != partitions:
            raise Lost(f"topic {self._topic} has {len(found)} partitions in place of {len(partitions)}")
        # One made anew in the meantime may hold more than was read of the old one: nothing else tells them apart.
        now = self._topic_id()
        if now is not None and now != self._id:
            raise Lost(f"topic {self._topic} was made anew")
        return True

    def _topic_id(self) -> str | None:
        """Of the topic as it is; None: the broker does not say."""
        try:
            asked = self._admin.describe_topics(TopicCollection([self._topic]), request_timeout=_ASK_SECONDS)
            return str(asked[self._topic].result(_ASK_SECONDS * 2).topic_id)
        except (KafkaException, TimeoutError) as e:
            if isinstance(e, TimeoutError) or _is_of_client(e.args[0]):
                # Brokers answer the consumer, which is asked before: this client knows none any more (see `_SILENCE`).
                self._admin = AdminClient(admin_properties(self._worker))
            return None

    def _check(self, error: KafkaError, heard: Heard) -> None:
        if error.code() in _GONE:
            raise Lost(f"topic {self._topic}: {error.str()}")
        if (
            error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED
        ):  # of a group that a client must name, and nothing uses
            heard(error)

    def _pass_on(self, heard: Heard, asked: KafkaError | None = None) -> bool:
        """Tell of what the client met meanwhile, rather of a cause than of its consequence; whether there was nothing.

        `asked` is what a question was answered with: that nobody answers, mostly.
        """
        self._serve()
        errors, self._errors[:] = [*self._errors], []
        if not errors and asked is None:
            return True
        causes = [e for e in errors if e.code() not in _CONSEQUENCES]
        # A broker's name is resolved, then connected to: the error of the broker that came furthest says most.
        self._cause = min(causes, key=_vagueness, default=self._cause)
        heard(self._cause or next((e for e in (asked, *errors) if e is not None), None))
        return False

    def _well(self, heard: Heard) -> None:
        self._serve()
        self._errors.clear()
        self._cause = None
        heard(None)


_CONSEQUENCES: Final = frozenset((KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT))  # noqa: SLF001


def _vagueness(error: KafkaError) -> bool:
    return error.code() == KafkaError._TRANSPORT  # noqa: SLF001


def _is_of_client(error: KafkaError) -> bool:
    """Whether no broker said that: librdkafka's own errors are below zero, but for "unknown", which brokers say too."""
    return error.code() < KafkaError.UNKNOWN
