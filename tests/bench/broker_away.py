"""What a connector costs while its broker is gone: CPU and growth, of a source and of a sink.

Each run has a broker of its own, which is killed once the connector has moved its first record.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from confluent_kafka import Producer
from tests.bench import data
from tests.bench.sides import CONVERTERS, Side, Work
from tests.bench.source_work import SETTLE, source_config
from tests.bench.topics import Topic

from penstock_cli.embedded import EmbeddedKafka

__all__ = ["AwayFigures", "Kind", "run_broker_away"]

Kind = Literal["source", "sink"]
_CALM: Final = 5.0


@dataclass(frozen=True)
class AwayFigures:
    """What one run of one side gave: a share of a core, and bytes of memory more at the end than at the beginning."""

    kind: Kind
    cpu: float
    grown: int


def run_broker_away(made: Callable[[str], Side], kind: Kind, folder: Path, seconds: float) -> AwayFigures:
    """One run of the side that `made` makes for a broker, watched for so many seconds without it.

    Raises:
        RuntimeError: the side failed, or has ended by itself.
    """
    name = f"bench-{folder.name}"
    with EmbeddedKafka(folder / "kafka") as kafka:
        servers = kafka.bootstrap_servers
        topic = Topic(servers, name)
        topic.__enter__()  # it goes with its broker, not with the end of this block
        config, has_moved = _source(folder, topic) if kind == "source" else _sink(folder, servers, name)
        with made(servers).run(Work(f"away-{kind}", config), folder) as measured:
            measured.await_until("moving", has_moved)
            measured.await_up()
            time.sleep(SETTLE)
            topic.close()
            kafka.kill()
            time.sleep(_CALM)
            before, memory, begun = measured.tree.cpu(look=True), sum(measured.tree.memory()), time.monotonic()
            time.sleep(seconds)
            cpu = (measured.tree.cpu(look=True) - before) / (time.monotonic() - begun)
            measured.check()
            return AwayFigures(kind, cpu, sum(measured.tree.memory()) - memory)


def _source(folder: Path, topic: Topic) -> tuple[dict[str, str], Callable[[], bool]]:
    file = folder / "in.txt"
    file.write_text(data.FIRST + "\n")
    return source_config(file, topic.name), lambda: topic.end() > 0


def _sink(folder: Path, servers: str, topic: str) -> tuple[dict[str, str], Callable[[], bool]]:
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"{}")
    producer.flush(30)
    file = folder / "out.txt"
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": str(file),
        "topics": topic,
        **CONVERTERS,
    }
    return config, lambda: file.exists() and file.stat().st_size > 0
