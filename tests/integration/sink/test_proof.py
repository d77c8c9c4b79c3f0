"""When a sink's task has shown that it works: not before its first records are written, or it knows that there are none."""

from pathlib import Path

from ..lab import Lab
from ..running import new_name, until
from .task_on_thread import Task


def test_a_sink_that_reads_an_empty_topic_works(lab: Lab, tmp_path: Path) -> None:
    with Task(lab.spec(lab.sink_manifest(lab.topic())), tmp_path) as task:
        until(lambda: task.news.proven, seconds=20)


def test_a_sink_with_a_backlog_works_once_records_of_it_are_written(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", "b")
    with Task(lab.spec(lab.sink_manifest(topic)), tmp_path) as task:
        until(lambda: task.news.proven, seconds=20)
        assert task.news.summaries


def test_a_sink_whose_topic_does_not_exist_has_not_shown_that_it_works(lab: Lab, tmp_path: Path) -> None:
    topic = new_name("missing")
    with Task(lab.spec(lab.sink_manifest(topic)), tmp_path) as task:
        task.until_trouble(f"Waiting for topics that do not exist, or that may not be read: {topic}")
        before = task.news.turns
        until(lambda: task.news.turns > before + 5, seconds=20)
        assert not task.news.proven


def test_a_sink_that_fails_at_its_first_record_has_never_shown_that_it_works(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, "not JSON")
    spec = lab.spec(lab.sink_manifest(topic, **{"value.converter": "JsonConverter"}))
    with Task(spec, tmp_path) as task:
        until(lambda: task.news.failed, seconds=20)
        assert not task.news.proven
