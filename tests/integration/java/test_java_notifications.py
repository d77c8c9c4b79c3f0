"""A Java source task that is notified of each record: where it is in Kafka, or that it is not there."""

from pathlib import Path
from typing import Any

import pytest

from ..reading import create, read_all
from ..running import until
from .probe_plugin import NOTIFIED, Probe, ProbeLab, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

pytestmark = pytest.mark.slow


def notes(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def run_to_end(lab: ProbeLab, topic: str, config: dict[str, Any], file: Path, count: int) -> None:
    lab.connector = NOTIFIED
    run = lab.run(topic, {"total": count, "batch": 70, "notes": file, **config})
    until(lambda: len(notes(file)) >= count, what=run.last_words)
    run.stop()
    assert len(notes(file)) == count


def in_kafka(servers: str, topic: str) -> list[str]:
    return sorted(f"{(r.value or b'').decode()} {topic}-{r.partition} {r.offset}" for r in read_all(servers, topic))


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_task_is_notified_of_the_offset_of_each_record(
    probe_lab: ProbeLab, topic: str, tmp_path: Path, guarantee: str
) -> None:
    create(probe_lab.servers, topic, 3)
    run_to_end(probe_lab, topic, {"delivery.guarantee": guarantee}, tmp_path / "notes", 500)
    found = notes(tmp_path / "notes")
    assert [line.split()[0] for line in found] == [f"0:{n}" for n in range(500)]
    assert sorted(found) == in_kafka(probe_lab.servers, topic)


def test_records_that_a_transform_drops_or_that_fail_are_nowhere(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    transform = "dev.penstock.probe.ProbeTransform"
    steps = {
        "drop": {"type": transform, "does": "drop", "on": "7"},
        "fail": {"type": transform, "does": "throw", "on": ":1.*5$"},
        "route": {"type": "RegexRouter", "regex": ".*", "replacement": f"{topic}-routed"},
    }
    chain = {f"transforms.{step}.{name}": text for step, given in steps.items() for name, text in given.items()}
    config = {"transforms": ",".join(steps), **chain, "errors.tolerance": "all"}
    run_to_end(probe_lab, topic, config, tmp_path / "notes", 200)
    found = notes(tmp_path / "notes")
    gone = [f"0:{n}" for n in range(200) if "7" in str(n) or (str(n).startswith("1") and str(n).endswith("5"))]
    assert [line.split()[0] for line in found if line.endswith(" nowhere")] == gone
    there = [line for line in found if not line.endswith(" nowhere")]
    assert sorted(there) == in_kafka(probe_lab.servers, f"{topic}-routed")


def test_records_of_a_transaction_that_the_connector_aborts_are_nowhere(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"transaction.boundary": "connector", "abort.at": "99", "commit.at": "199"}
    run_to_end(probe_lab, topic, config, tmp_path / "notes", 200)
    found = notes(tmp_path / "notes")
    assert [line for line in found[:100] if not line.endswith(" nowhere")] == []
    assert sorted(found[100:]) == in_kafka(probe_lab.servers, topic)
