"""Tasks go on where an earlier release stopped: golden records, as that one wrote them to Kafka."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from penstock_runtime.kafka.status_topic import incarnated_tasks

from ..lab import Lab
from ..reading import await_records, create, read_all
from ..running import manifest, new_name, until

pytestmark = pytest.mark.slow

GOLDEN: Final = Path(__file__).parents[2] / "unit" / "model" / "golden" / "kafka-records-v0.1.0.jsonl"
GENERATIONS: Final = {"orders": 1, "copy": 1795398894}
"""Of the golden incarnation records: exactly once they are counted, at least once they are a clock's."""


def write_golden(servers: str, topics: Mapping[str, str], names: Mapping[str, str], file: Path) -> None:
    """The records, for connectors of these names, to these topics."""
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random"})
    for line in GOLDEN.read_text().splitlines():
        record = json.loads(line)
        texts = []
        for text in (record["key"], record["value"]):
            for word, name in names.items():
                for form in ('"{}"', "connector-{}", "-{}-0"):
                    text = text.replace(form.format(word), form.format(name))
            texts.append(text.replace("{file}", str(file)))
        producer.produce(topics[record["topic"]], texts[1], texts[0])
    assert producer.flush(30) == 0
    producer.close()


def test_sources_continue_at_the_positions_of_an_earlier_release_and_fence_its_tasks(lab: Lab, tmp_path: Path) -> None:
    file, topic = tmp_path / "in", new_name("t")
    file.write_text("a\nb\nold c\n")
    topics = {"status": new_name("status"), "offsets": new_name("offsets")}
    names = {word: new_name(word) for word in ("orders", "copy", "out")}
    for internal in topics.values():
        create(lab.servers, internal, 5, cleanup_policy="compact")
    write_golden(lab.servers, topics, names, file)
    with file.open("a") as more:
        more.write("new\n")
    resources = [
        manifest(names["orders"], "FileStreamSource", file=file, topic=topic, value_converter="StringConverter"),
        manifest(
            names["copy"],
            "FileStreamSource",
            file=file,
            topic=topic,
            value_converter="StringConverter",
            delivery_guarantee="at-least-once",
        ),
    ]
    worker = {
        "offset.storage.topic": topics["offsets"],
        "status.storage.topic": topics["status"],
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
    }
    run = lab.processes.run(resources, lab.servers, worker=worker)
    run.await_log(f"Fenced 4 transactional ids of earlier incarnations of {names['orders']}")
    await_records(lab.servers, topic, 2)
    with file.open("a") as more:
        more.write("newer\n")
    until(lambda: len(lab.values(topic)) == 4, what=run.last_words)
    run.stop()
    assert sorted(lab.values(topic)) == ["new", "new", "newer", "newer"]
    written = [(r.key or b"", r.value) for r in read_all(lab.servers, topics["status"])]
    for word, generation in GENERATIONS.items():
        (last,) = incarnated_tasks(written, names[word]).values()
        assert last.generation > generation
        assert last.incarnation == 1
