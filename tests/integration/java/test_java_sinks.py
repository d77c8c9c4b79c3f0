"""Java sinks: what their tasks are given, in which order, and what is committed."""

import json
from collections.abc import Iterable
from typing import Final

import pytest
from confluent_kafka import Producer

from ..reading import create, produce
from ..running import until
from .probe_plugin import SINK, Probe, ProbeLab, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

SOON: Final = {"offset.flush.interval.ms": "200"}


@pytest.fixture
def sink_lab(probe_lab: ProbeLab) -> ProbeLab:
    """The probe's sink on the shared Kafka."""
    probe_lab.connector = SINK
    return probe_lab


def numbers(first: int, last: int) -> list[bytes | None]:
    return [str(n).encode() for n in range(first, last)]


def texts(of: Iterable[bytes | None]) -> list[str]:
    return [each.decode() for each in of if each is not None]


# What a user of Java sinks does first: it belongs to `make test`, though it may take over 5 s.
def test_a_java_sink_gets_every_record_and_goes_on_after_a_stop(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 3_000))
    run = sink_lab.run(topic)
    until(lambda: len(sink_lab.out) == 3_000, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 3_000))
    calls = [line for line in sink_lab.journal if not line.startswith("put")]
    assert calls == [
        "start ",
        "open [0] of [0]",
        "flush {0=3000}",
        "preCommit {0=3000} allows {0=3000}",
        "close [0]",
        "stop",
    ]
    produce(sink_lab.servers, topic, numbers(3_000, 3_010))
    run = sink_lab.run(topic)
    until(lambda: len(sink_lab.out) >= 3_010, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 3_010))
