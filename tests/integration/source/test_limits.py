"""A source that ignores the limits of a batch: ended where that is possible, told where it is not."""

from pathlib import Path
from typing import Any

import pytest

from ..checking import assert_counts_up
from ..lab import Lab, failed
from ..running import manifest, new_name

pytestmark = pytest.mark.slow

TIMEOUT = {"producer.override.transaction.timeout.ms": "2000"}


def outside(lab: Lab, folder: Path, topic: str, **more: Any) -> dict[str, Any]:
    given = {"value.converter": "StringConverter", **more.pop("over", {})}
    return manifest(
        new_name(), "outside_sources:Outside", given, journal=lab.journal.path, topic=topic, folder=folder, **more
    )


def numbers(lab: Lab, topic: str) -> list[int]:
    return [int(v) for v in lab.values(topic)]


def test_a_polling_source_that_never_ends_a_batch_is_ended_between_two_portions(lab: Lab, tmp_path: Path) -> None:
    topic, most = lab.topic(), 30_000
    _, task = lab.start(outside(lab, tmp_path, topic, polling=True, most=most, each=1_000))
    lab.journal.until(lambda: [e for e in lab.journal.events if e["event"] == "commit" and e["n"] == most], 1)
    task.stop()
    assert lab.journal.of("commit")[0]["n"] == 4_000  # twice as many as it was asked for
    assert_counts_up(numbers(lab, topic), "the topic")


def test_one_that_is_slow_is_ended_before_its_transaction_is(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    _, task = lab.start(outside(lab, tmp_path, topic, polling=True, most=40, each=1, pace=0.1, over=TIMEOUT))
    lab.journal.until(lambda: [e for e in lab.journal.events if e["event"] == "commit" and e["n"] == 40], 1)
    task.stop()
    assert "planning it again" not in task.log_text()
    assert numbers(lab, topic) == list(range(40))


def test_one_that_reports_its_offsets_only_at_the_end_may_end_its_batch(lab: Lab, tmp_path: Path) -> None:
    topic, most = lab.topic(), 10_000
    _, task = lab.start(outside(lab, tmp_path, topic, polling=True, most=most, each=1_000, tells=False))
    (commit,) = lab.journal.count("commit")
    task.stop()
    assert commit["n"] == most
    assert_counts_up(numbers(lab, topic), "the topic")


@pytest.mark.parametrize("polling", [False, True])
def test_batches_that_never_fit_into_a_transaction_fail_the_task_with_the_property(
    lab: Lab, tmp_path: Path, polling: bool
) -> None:
    topic = lab.topic()
    _, task = lab.start(
        outside(
            lab,
            tmp_path,
            topic,
            polling=polling,
            tells=False,
            most=5_000,
            each=1_000 if polling else 5_000,
            pace=0.001,
            over=TIMEOUT,
        )
    )
    message = failed(task)
    assert "cannot deliver a batch in one transaction, 3 times in a row" in message
    assert "Outside was limited to 2000 records" in message
    assert "producer.override.transaction.timeout.ms" in message
    assert lab.values(topic) == []
    assert len([e for e in lab.journal.of("read") if e["begin"] == 0]) == 3


def test_at_least_once_no_transaction_limits_a_batch(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    over = {**TIMEOUT, "delivery.guarantee": "at-least-once"}
    _, task = lab.start(outside(lab, tmp_path, topic, most=5_000, each=5_000, pace=0.001, over=over))
    (commit,) = lab.journal.count("commit")
    assert commit["n"] == 5_000
    task.stop()
    assert_counts_up(numbers(lab, topic), "the topic")
