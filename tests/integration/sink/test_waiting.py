"""Whether a sink has work to do, which autoscaling needs: it waits only if there are no records to read."""

from pathlib import Path

from ..lab import Lab
from ..running import until
from .task_on_thread import Task


def test_sink_waits_without_records(lab: Lab, tmp_path: Path) -> None:
    with Task(lab.spec(lab.sink_manifest(lab.topic())), tmp_path) as task:
        until(lambda: task.news.waits > 3, seconds=20)


def test_sink_that_a_rate_limit_holds_up_does_not_wait_until_its_backlog_is_written(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, *(f"{n}" for n in range(150)))
    document = lab.sink_manifest(topic)
    document["spec"]["limits"] = {"recordsPerSecond": 50}
    with Task(lab.spec(document), tmp_path) as task:

        def written() -> int:
            return sum(summary.read for summary in task.news.summaries)

        until(lambda: written() > 0, seconds=20)
        waits = task.news.waits
        until(lambda: written() >= 100, seconds=20)
        assert task.news.waits == waits
        until(lambda: written() == 150 and task.news.waits > waits, seconds=20)
