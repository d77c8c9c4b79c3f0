"""What tests ask for that stop, kill or starve their broker: one of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock_runtime.embedded import EmbeddedKafka


@pytest.fixture
def kafka_on(tmp_path: Path) -> Iterator[Callable[[str], EmbeddedKafka]]:
    """Make embedded Kafkas, not started yet, on named folders of this test; killed at its end if they still run."""
    made: list[EmbeddedKafka] = []

    def make(folder: str = "kafka") -> EmbeddedKafka:
        made.append(EmbeddedKafka(tmp_path / folder))
        return made[-1]

    yield make
    for broker in made:
        broker.kill()


@pytest.fixture
def own_kafka(kafka_on: Callable[[str], EmbeddedKafka]) -> EmbeddedKafka:
    """A running broker that this test may stop, kill and start again."""
    broker = kafka_on("kafka")
    broker.start()
    return broker
