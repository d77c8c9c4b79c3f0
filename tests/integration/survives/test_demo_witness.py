"""The demo's witness counts right after a broker stood still for longer than a consumer group waits for its members."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock_cli.embedded import EmbeddedKafka

from ..reading import create, produce
from ..running import until

PROGRAM = Path(__file__).parents[3] / "examples" / "cluster" / "witness.py"
FROZEN = 50.0  # seconds; session.timeout.ms is 45


class Witness:
    """The program, and what it has found."""

    def __init__(self, servers: str, topic: str, out: Path, copies: int = 1) -> None:
        self._out = out
        env = {**os.environ, "BOOTSTRAP_SERVERS": servers, "TOPIC": topic, "COPIES": str(copies)}
        with out.open("wb") as file:
            self.process = subprocess.Popen([sys.executable, str(PROGRAM)], env=env, stdout=file)

    @property
    def found(self) -> dict[str, int]:
        lines = self._out.read_text().splitlines()
        found: dict[str, int] = json.loads(lines[-1]) if lines else {"records": 0}
        return found


@pytest.fixture
def witness(own_kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Witness]:
    """Of the topic `orders`, which does not exist yet."""
    made = Witness(own_kafka.bootstrap_servers, "orders", tmp_path / "out")
    yield made
    made.process.kill()
    made.process.wait()


def orders(first: int, count: int) -> list[bytes]:
    return [b'{"order_id": %d}' % n for n in range(first, first + count)]


@pytest.mark.slow
def test_the_witness_counts_each_order_once_before_and_after_a_frozen_broker(
    own_kafka: EmbeddedKafka, witness: Witness
) -> None:
    servers = own_kafka.bootstrap_servers
    create(servers, "orders", 3)
    produce(servers, "orders", orders(0, 500))
    until(lambda: witness.found["records"] >= 500)
    broker = psutil.Process(own_kafka.pid)
    broker.suspend()
    time.sleep(FROZEN)
    broker.resume()
    produce(servers, "orders", orders(500, 100))
    until(lambda: witness.found["records"] >= 600)
    assert witness.found == {"records": 600, "first": 0, "last": 599, "missing": 0, "duplicated": 0}


def test_the_witness_counts_ids_that_two_streams_share(kafka: str, topic: str, tmp_path: Path) -> None:
    witness = Witness(kafka, topic, tmp_path / "out", copies=2)
    try:
        produce(kafka, topic, [*orders(0, 100), *orders(0, 100)])
        until(lambda: witness.found["records"] == 200)
        assert (witness.found["missing"], witness.found["duplicated"]) == (0, 0)
        produce(kafka, topic, [*orders(7, 1), *orders(100, 1)])
        until(lambda: witness.found["records"] == 202)
        assert (witness.found["missing"], witness.found["duplicated"]) == (1, 1)
    finally:
        witness.process.kill()
        witness.process.wait()
