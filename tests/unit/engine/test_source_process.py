"""A source's end in one process, at least once: what becomes of its producer when a batch fails."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from penstock import ConnectError, Record, RetriableError
from penstock_runtime.engine import source_process
from penstock_runtime.engine.delivery import Delivery
from penstock_runtime.engine.source_process import SourceProcess
from penstock_runtime.engine.summary import Summary
from penstock_runtime.engine.tolerance import ErrorPolicy
from penstock_runtime.kafka.errors import Fenced


class Plain:
    """A client; `fates` are what its flushes are told, one for each that is made."""

    fates: list[list[ConnectError]]
    made: list["Plain"]

    def __init__(self, settings: Any, *, client_id: str) -> None:
        self._fate = self.fates.pop(0)
        self.closed = False
        self.made.append(self)

    def flush(self) -> Sequence[ConnectError]:
        return self._fate

    def close(self) -> None:
        self.closed = True


class Nothing:
    """Delivers nothing; counts what is told as lost."""

    def __init__(self, *, tolerate: bool) -> None:
        self.policy = ErrorPolicy(tolerate=tolerate)
        self.passed_over: list[ConnectError] = []

    def deliver(self, portions: Iterator[Any], port: Any, summary: Summary, *, where: str) -> None: ...

    def lost(self, errors: Sequence[ConnectError], summary: Summary) -> None:
        self.passed_over += errors


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> type[Plain]:
    Plain.fates, Plain.made = [], []
    monkeypatch.setattr(source_process, "PlainProducer", Plain)
    return Plain


def process(delivery: Nothing) -> SourceProcess:
    return SourceProcess(
        cast("Any", None), cast("Delivery", delivery), cast("Any", None), read_ahead=False, offsets_topic="o",
        transactional_id=None, client_id="c",
    )  # fmt: skip


def batch(of: SourceProcess) -> Summary:
    portions: list[Sequence[Record]] = []
    summary = Summary()
    of.add_read(iter(portions), summary, where="source c")
    return summary


@pytest.mark.parametrize(
    "error", [Fenced("the producer is beyond use"), RetriableError("no broker"), ConnectError("no")]
)
def test_a_batch_that_failed_is_tried_again_with_another_producer(plain: type[Plain], error: ConnectError) -> None:
    """librdkafka: after a fatal error the producer instance is no longer usable."""
    plain.fates = [[error], []]
    one = process(Nothing(tolerate=False))
    with pytest.raises(type(error)):
        batch(one)
    batch(one)
    batch(one)
    assert [p.closed for p in plain.made] == [True, False]


def test_records_that_a_producer_beyond_use_did_not_take_are_not_passed_over(plain: type[Plain]) -> None:
    delivery = Nothing(tolerate=True)
    plain.fates = [[ConnectError("too large"), Fenced("beyond use")]]
    with pytest.raises(Fenced):
        batch(process(delivery))
    assert delivery.passed_over == []


def test_records_that_kafka_refuses_are_passed_over_where_that_is_tolerated(plain: type[Plain]) -> None:
    delivery = Nothing(tolerate=True)
    plain.fates = [[ConnectError("too large")]]
    one = process(delivery)
    batch(one)
    assert [str(e) for e in delivery.passed_over] == ["too large"]
    assert not plain.made[0].closed
