"""A failure is told before anything is closed, and the process leaves though something does not let itself be closed."""

import json
from pathlib import Path
from typing import Any

import pytest

from ..lab import Lab
from ..pods import Pods, pods
from ..running import Running, manifest, new_name

pytestmark = pytest.mark.slow

__all__ = ["pods"]

BOOM = {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "2999"}


def source(lab: Lab, folder: Path, blocks: str, **more: str) -> dict[str, Any]:
    config = {"value.converter": "StringConverter", **BOOM, **more}
    return manifest(
        new_name(),
        "outside_sources:Outside",
        config,
        journal=lab.journal.path,
        topic=lab.topic(),
        folder=folder,
        most=6_000,
        each=6_000,
        blocks=blocks,
    )


def assert_told(lab: Lab, name: str, task: Running, message: str) -> None:
    task.await_event(lambda e: e["event"] == "failed" and message in e["message"])
    assert task.await_exit() == 1
    assert "exiting anyway" in task.log_text()
    assert lab.status(f"status-task-{name}-0")[-1]["state"] == "FAILED"
    assert not task.tree()


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("blocks", ["read", "close", "stop"])
def test_a_source_that_fails_while_an_external_system_does_not_answer(
    lab: Lab, tmp_path: Path, blocks: str, guarantee: str
) -> None:
    at = "999" if blocks == "read" else "2999"  # while the next portion is read
    more = {"delivery.guarantee": guarantee, "transforms.f.on": at}
    name, task = lab.start(source(lab, tmp_path, blocks, **more))
    lab.journal.count("blocked")
    assert_told(lab, name, task, f"transform refused {at}")


def failing_sink(lab: Lab, blocks: str) -> tuple[str, Running]:
    topic = lab.topic()
    lab.produce(topic, *map(str, range(10)), "boom")
    config = {
        "value.converter": "StringConverter",
        "topics": topic,
        "consumer.override.max.poll.records": "5",
        "journal": lab.journal.path,
        "blocks": blocks,
    }
    return lab.start(manifest(new_name(), "blocking_sinks:BlockingSink", config))


@pytest.mark.parametrize("blocks", ["commit", "close", "writer", "stop"])
def test_a_sink_that_fails_while_an_external_system_does_not_answer(lab: Lab, blocks: str) -> None:
    assert_told(lab, *failing_sink(lab, blocks), "the writer refused boom")


def test_a_sink_that_fails_and_asks_to_wait_when_it_is_to_commit_is_asked_once_and_closed(lab: Lab) -> None:
    _, task = failing_sink(lab, "again")
    assert task.await_exit() == 1
    assert task.failure is not None
    assert "the writer refused boom" in task.failure
    log = task.log_text()
    assert "Cannot commit the offsets of written records, which will be written again: the outside is away" in log
    assert "exiting anyway" not in log
    assert "Retrying the commit" not in log


def test_a_pod_leaves_its_last_word_before_anything_is_closed(pods: Pods, tmp_path: Path) -> None:
    task = pods.start(source(pods.lab, tmp_path, "close"))
    assert task.process.await_exit() == 1
    word = task.last_word()
    assert word.exit_code == 1
    assert "transform refused 2999" in (word.message or "")
    assert json.dumps(word.trace) != "null"
