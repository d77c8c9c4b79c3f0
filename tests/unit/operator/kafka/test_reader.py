"""The reader of the status topic, while a long one is read."""

import threading
from typing import Any, cast

import pytest

from penstock_operator.kafka import reader
from penstock_operator.kafka.reader import Reader


class Message:
    def error(self) -> None:
        return None

    def key(self) -> bytes:
        return b"key"

    def value(self) -> bytes:
        return b"value"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7


class Endless:
    """A client of a topic that always holds more."""

    def __init__(self, *_: object) -> None: ...

    def assign(self, places: object) -> None: ...

    def poll(self, seconds: float) -> Message:
        return Message()

    def consume(self, most: int, seconds: float) -> list[Message]:
        return [Message()]


def test_a_reader_gives_signs_of_life_while_it_reads_a_long_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the kubelet would restart the operator in the middle, and it would begin anew, for ever."""
    for name in ("Consumer", "AdminClient"):
        monkeypatch.setattr(reader, name, Endless)
    for name in ("consumer_properties", "admin_properties"):
        monkeypatch.setattr(reader, name, lambda *_: {})
    monkeypatch.setattr(Reader, "_topic_id", lambda self: "id")
    turns: list[int] = []
    made = Reader(cast("Any", None), "status", threading.Event(), lambda: turns.append(1))
    entries = made.all_of([0], lambda error: None)
    for _ in range(20):
        assert next(entries) == (b"key", b"value")
    assert len(turns) >= 9
