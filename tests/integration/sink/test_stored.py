"""Sinks that keep offsets with their data: nothing comes twice, also after a batch that failed under way."""

from pathlib import Path
from typing import Any

import pytest

from ..lab import STRING, Lab
from ..reading import delete, produce
from ..running import Running, manifest, new_name

EACH = 75_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "store"
    made.mkdir()
    return made


def storing(lab: Lab, folder: Path, topics: str, **config: Any) -> tuple[str, Running]:
    given = {**STRING, "journal": lab.journal.path, "folder": str(folder), "topics": topics, **config}
    return lab.start(manifest(new_name("store"), "storing_sinks:StoringSink", given))


def lines(folder: Path, topic: str, partition: int) -> list[int]:
    file = folder / f"{topic}-{partition}.lines"
    return [int(x) for x in file.read_text().split()] if file.exists() else []


@pytest.mark.slow
def test_a_writer_that_stores_offsets_is_asked_for_them_after_a_batch_that_failed_in_a_part(
    lab: Lab, folder: Path
) -> None:
    topic = lab.topic("t", 2)
    for partition in range(2):
        produce(lab.servers, topic, (b"%d-%d" % (partition, n) for n in range(EACH)), partition=partition)
    name, task = storing(
        lab, folder, topic, once=1, after=2_000, slow=2.0, **{"consumer.override.max.poll.records": "1000"}
    )
    lab.wait_committed(name, topic, EACH, 0)
    lab.wait_committed(name, topic, EACH, 1)
    task.stop()
    assert (folder / "asked").exists()  # in a worker, while another stored some of its part
    assert lines(folder, topic, 0) == list(range(EACH))
    assert lines(folder, topic, 1) == list(range(EACH))


def test_an_error_while_a_sink_stops_is_logged_and_hides_nothing(lab: Lab, folder: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    _, task = storing(lab, folder, topic, stop="cannot stop")
    lab.journal.count("commit")
    task.stop()
    assert "cannot stop" in task.log_text()


def test_a_topic_that_goes_is_made_final_before_it_is_closed(lab: Lab, folder: Path) -> None:
    topic, other = lab.topic(), lab.topic()
    lab.produce(topic, "a")
    _, task = storing(lab, folder, f"{topic},{other}", **{"consumer.override.metadata.max.age.ms": "300"})
    lab.journal.count("stored")
    delete(lab.servers, topic)
    lab.journal.count("close")
    task.stop()
    kinds = lab.journal.kinds()
    assert kinds.index("commit") < kinds.index("close")
