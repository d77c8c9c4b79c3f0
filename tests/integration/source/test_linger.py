"""`batch.linger.ms`: records that trickle in are gathered for a moment, since each batch costs a commit."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from ..checking import assert_counts_up
from ..lab import Lab
from ..running import Running, manifest, new_name, next_life, until

LINES = 200


def start(lab: Lab, file: Path, topic: str, linger: int) -> Running:
    config = {"batch.linger.ms": str(linger), "value.converter": "StringConverter"}
    _, task = lab.start(manifest(new_name(), "FileStreamSource", config, file=file, topic=topic))
    return task


def trickle(file: Path, first: int) -> float:
    """Write lines one by one, and return how many seconds that took."""
    begun = time.monotonic()
    with file.open("a", buffering=1) as lines:
        for number in range(first, first + LINES):
            lines.write(f"{number}\n")
            time.sleep(0.005)
    return time.monotonic() - begun


def transactions(lab: Lab, topic: str) -> int:
    """As many markers as lie between the records, and one behind the last."""
    offsets = [record.offset for record in lab.records(topic)]
    return 1 + sum(after - before - 1 for before, after in pairwise(offsets))


@pytest.mark.slow
@pytest.mark.parametrize("linger", [0, 200])
def test_a_trickle_is_committed_no_more_often_than_it_may_be_gathered(lab: Lab, tmp_path: Path, linger: int) -> None:
    topic, file = lab.topic(), tmp_path / "lines"
    file.write_text("0\n")
    task = start(lab, file, topic, linger)
    until(lambda: len(lab.values(topic)) == 1, what=task.last_words)
    seconds = trickle(file, 1)
    until(lambda: len(lab.values(topic)) == 1 + LINES, what=task.last_words)
    task.stop()
    assert_counts_up([int(value) for value in lab.values(topic)], topic)
    if linger:
        assert transactions(lab, topic) <= seconds / (linger / 1000) + 2
    else:
        assert transactions(lab, topic) > seconds / 0.1


@pytest.mark.slow
def test_nothing_that_is_gathered_is_lost_or_doubled_by_a_stop_or_a_kill(lab: Lab, tmp_path: Path) -> None:
    topic, file = lab.topic(), tmp_path / "lines"
    file.write_text("0\n")
    config = {"batch.linger.ms": "3000", "value.converter": "StringConverter"}
    spec = lab.spec(manifest(new_name(), "FileStreamSource", config, file=file, topic=topic))
    task = lab.processes.task(spec)
    until(lambda: len(lab.values(topic)) == 1, what=task.last_words)
    trickle(file, 1)
    task.stop()
    spec = next_life(spec)
    task = lab.processes.task(spec)
    until(lambda: len(lab.values(topic)) == 1 + LINES, what=task.last_words)
    trickle(file, 1 + LINES)
    task.kill()
    task = lab.processes.task(next_life(spec))
    until(lambda: len(lab.values(topic)) == 1 + 2 * LINES, what=task.last_words)
    task.stop()
    assert_counts_up([int(value) for value in lab.values(topic)], topic)
