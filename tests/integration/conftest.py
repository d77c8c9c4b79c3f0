"""What tests ask for: an API server that they share, and a broker of their own to stop, kill or starve."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock_cli.embedded import EmbeddedKafka

from .api_servers import api, api_server, namespace
from .journal import Journal
from .lab import Lab
from .running import Processes

__all__ = ["api", "api_server", "journal", "kafka_on", "lab", "namespace", "own_kafka", "processes"]


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


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Starts tasks and `penstock run`s; kills them at the end, with all that they started."""
    folder = tmp_path / "processes"
    folder.mkdir()
    made = Processes(folder)
    yield made
    made.end()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """What the scripted plugins of this test tell."""
    with Journal(tmp_path / "journal") as made:
        yield made


@pytest.fixture
def lab(kafka: str, processes: Processes, journal: Journal) -> Lab:
    """Scripted connectors on the shared Kafka."""
    return Lab(kafka, processes, journal)
