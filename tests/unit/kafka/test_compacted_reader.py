"""Reading a compacted topic to its end, however long that takes, and following one."""

import itertools
import time
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError

from penstock import ConnectError, RetriableError
from penstock_kafka import compacted_reader, topic_consumer
from penstock_kafka.compacted_reader import CompactedReader
from penstock_kafka.topic_consumer import ReaderClients, read_between


class Message:
    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self._offset, self._error = offset, error

    def error(self) -> KafkaError | None:
        return self._error

    def key(self) -> bytes | None:
        return None if self._error else f"k{self._offset}".encode()

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return 1, 0

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset


END = KafkaError(KafkaError._PARTITION_EOF)


class Slow:
    """A client that takes a second for each message, on the clock that the reader looks at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *messages: Message | None) -> None:
        self.now = 0.0
        self.asked = 0
        answers = itertools.chain(messages, itertools.repeat(None))

        def poll_messages(*_: object) -> list[Message]:
            self.now += 1.0
            self.asked += 1
            message = next(answers)
            return [] if message is None else [message]

        monkeypatch.setattr(topic_consumer, "poll_messages", poll_messages)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def assign(self, places: object) -> None: ...


def test_a_long_topic_is_read_for_as_long_as_records_come(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch, *(Message(n) for n in range(200)), Message(200, END))
    entries = list(read_between(cast("Any", slow), "offsets", {0: 0}, {0: 200}, 60.0))
    assert len(entries) == 200
    assert slow.now > 120


def test_a_topic_of_which_nothing_comes_any_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch, *(Message(n) for n in range(100)))
    with pytest.raises(RetriableError, match="for 60 s before the end of partition 0: a transaction may be open"):
        list(read_between(cast("Any", slow), "offsets", {0: 0}, {0: 200}, 60.0))
    assert 160 <= slow.now <= 162


def test_a_topic_to_which_others_write_without_a_pause_is_read_to_the_end_that_it_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """librdkafka tells of an end only where nothing comes for a moment."""
    slow = Slow(monkeypatch, *(Message(n) for n in range(1_000)))
    entries = list(read_between(cast("Any", slow), "offsets", {0: 0}, {0: 200}, 60.0))
    assert len(entries) == 200


def test_an_end_that_comes_with_the_last_moment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    Slow(monkeypatch, *[None] * 60, Message(200, END))
    assert list(read_between(cast("Any", Nobody()), "offsets", {0: 0}, {0: 200}, 60.0)) == []


class Nobody:
    def assign(self, places: object) -> None: ...


def test_what_is_read_is_handed_on_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not kept: there may be millions of updates of a few offsets."""
    slow = Slow(monkeypatch, *(Message(n) for n in range(10)), Message(10, END))
    entries = read_between(cast("Any", slow), "offsets", {0: 0}, {0: 10}, 60.0)
    assert next(entries).key == b"k0"
    assert slow.asked == 1


def test_records_that_come_with_an_error_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to pause, say: it is not told again."""
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    answers = [[Message(1), Message(2, refused)], [Message(3)]]
    monkeypatch.setattr(compacted_reader, "poll_messages", lambda *_: answers.pop(0))
    follower = CompactedReader(ReaderClients({"group.id": "g"}, {}), "status", keys=[b"k"])
    monkeypatch.setattr(follower, "_check", lambda: None)
    assert follower.poll(1.0) == [(b"k1", b"v")]
    with pytest.raises(ConnectError):
        follower.poll(1.0)
    assert follower.poll(1.0) == [(b"k3", b"v")]


class Endless:
    """A client of a topic that always holds more."""

    def __init__(self, *_: object) -> None: ...

    def assign(self, places: object) -> None: ...

    def poll(self, seconds: float) -> Message:
        return Message(7)

    def consume(self, most: int, seconds: float) -> list[Message]:
        return [Message(7)] * most


def test_a_reader_returns_to_its_caller_while_it_reads_a_long_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the kubelet would restart the operator in the middle, and it would begin anew, for ever."""
    monkeypatch.setattr(topic_consumer, "Consumer", Endless)
    monkeypatch.setattr(topic_consumer.TopicConsumer, "partitions", lambda *_: [0])
    monkeypatch.setattr(topic_consumer.TopicConsumer, "watermarks", lambda *_: {0: (0, 1 << 40)})
    reader = CompactedReader(ReaderClients({}, {}), "status")
    for _ in range(20):
        assert 0 < len(reader.poll(1.0)) <= 1_000
    assert not reader.caught_up
