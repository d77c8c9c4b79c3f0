"""At-least-once delivery in one process of a source: the producer is replaced after a failed batch."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from penstock import ConnectError, Record, RetriableError
from penstock.source import record_batches
from penstock_kafka.errors import Fenced
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.source import source_process
from penstock_runtime.source.delivery import Delivery
from penstock_runtime.source.source_process import SourceProcess


class Plain:
    """A client; `fates` are what its flushes are told, one for each that is made."""

    fates: list[list[ConnectError]]
    made: list["Plain"]

    def __init__(self, settings: Any, *, client_id: str, refusals: Refusals) -> None:
        self._fate = self.fates.pop(0)
        self.closed = False
        self.made.append(self)

    def flush(self) -> Sequence[ConnectError]:
        if self._fate:
            raise self._fate[0]
        return ()

    def close(self) -> None:
        self.closed = True


class Nothing:
    """Delivers nothing."""

    def __init__(self, *, tolerate: bool) -> None:
        self.policy = ErrorPolicy(tolerate=tolerate)

    def stopping(self) -> bool:
        return False

    def run_stage(self, portions: Iterator[Any], port: Any, summary: Summary, *, where: str) -> None: ...


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> type[Plain]:
    Plain.fates, Plain.made = [], []
    monkeypatch.setattr(source_process, "PlainProducer", Plain)
    return Plain


def process(delivery: Nothing) -> SourceProcess:
    settings = ClientSettings(producer={}, consumer={}, admin={})
    return SourceProcess(
        settings,
        cast("Delivery", delivery),
        cast("Any", None),
        read_ahead=False,
        offsets_topic="o",
        transactional_id=None,
        client_id="c",
    )


def batch(of: SourceProcess) -> Summary:
    portions: list[Sequence[Record]] = []
    summary = Summary()
    of.add_read(record_batches(portions), summary, where="source c")
    return summary


@pytest.mark.parametrize(
    "error", [Fenced("the producer is beyond use"), RetriableError("no broker"), ConnectError("no")]
)
def test_failed_batch_is_retried_with_a_new_producer(plain: type[Plain], error: ConnectError) -> None:
    """librdkafka: after a fatal error the producer instance is no longer usable."""
    plain.fates = [[error], []]
    one = process(Nothing(tolerate=False))
    with pytest.raises(type(error)):
        batch(one)
    batch(one)
    batch(one)
    assert [p.closed for p in plain.made] == [True, False]
