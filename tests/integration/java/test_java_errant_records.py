"""Records that Java sinks report (KIP-610): each is in the dead letter queue before anything behind it is committed."""

import pytest

from ..reading import Reader, create, produce, read_all
from ..running import until
from .probe_plugin import Probe, ProbeLab, await_jvm, probe, probe_lab, sink_lab
from .test_java_sinks import SOON

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]


def queue(topic: str, **more: str) -> dict[str, str]:
    """A queue that exists by now, and what is tolerated."""
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dlq",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        **more,
    }


def values(count: int, *bad: int) -> list[bytes]:
    return [f"{'bad' if n in bad else 'good'} {n}".encode() for n in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("report", ["now", "wait", "later"])
def test_a_reported_record_is_a_dead_letter_with_the_bytes_that_were_read(
    sink_lab: ProbeLab, topic: str, report: str
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, values(200, 5, 150))
    run = sink_lab.run(topic, queue(topic, report=report), worker=SOON)
    with Reader(sink_lab.servers, f"{topic}-dlq") as reader:
        letters = reader.count(2)
        until(lambda: sink_lab.committed(topic) == 200, what=run.last_words)
        until(lambda: len(sink_lab.out) == 198, what=run.last_words)
        if report != "now":
            until(lambda: {"letter 5", "letter 150"} <= set(sink_lab.journal), what=run.last_words)
        run.stop()
        assert len(reader.to_end()) == 2
    assert sorted(r.value or b"" for r in letters) == [b"bad 150", b"bad 5"]
    headers = {name: value for name, value in letters[0].headers if value is not None}
    assert headers["__connect.errors.topic"] == topic.encode()
    assert headers["__connect.errors.offset"] in (b"5", b"150")
    assert headers["__connect.errors.stage"] == b"TASK_PUT"
    assert headers["__connect.errors.class.name"] == b"org.apache.kafka.connect.sink.SinkTask"
    assert headers["__connect.errors.exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"
    assert headers["__connect.errors.exception.message"] == b"bad record"
    assert b"at dev.penstock.probe.ProbeSinkTask" in headers["__connect.errors.exception.stacktrace"]


@pytest.mark.slow
@pytest.mark.parametrize("report", ["now", "swallow"])
def test_a_reported_record_fails_the_task_where_nothing_is_tolerated(
    sink_lab: ProbeLab, topic: str, report: str
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, values(100, 50))
    log = sink_lab.fails(topic, {**queue(topic, report=report), "errors.tolerance": "none"}, worker=SOON)
    ended = next(line for line in reversed(log.splitlines()) if "has ended" in line)
    assert "Tolerance exceeded in error handler" in ended
    assert f"{topic}-0 offset 50" in ended
    assert (sink_lab.committed(topic) or 0) <= 50
    assert [r.value for r in read_all(sink_lab.servers, f"{topic}-dlq")] == [b"bad 50"]


@pytest.mark.slow
def test_a_task_gets_no_reporter_where_nothing_would_become_of_a_report(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, values(10, 5))
    log = sink_lab.fails(topic, {"errors.tolerance": "all"}, worker=SOON)
    assert "DataException: no reporter for offset 5" in log


@pytest.mark.slow
def test_records_that_are_reported_and_whose_jvm_is_killed_are_dead_letters_or_come_again(
    sink_lab: ProbeLab, topic: str
) -> None:
    create(sink_lab.servers, topic)
    bad = range(0, 3_000, 100)
    produce(sink_lab.servers, topic, values(3_000, *bad))
    config = queue(topic, report="later", commits="reported", **{"report.after": "500"})
    run = sink_lab.run(topic, config, worker=SOON, restart={"backoff": {"initial": "100ms", "max": "1s"}})
    until(lambda: len(sink_lab.out) >= 500, what=run.last_words)
    jvm = await_jvm(run)
    jvm.kill()
    until(lambda: sink_lab.committed(topic) == 3_000, what=run.last_words)
    run.stop()
    assert set(sink_lab.out) == {f"good {n}" for n in range(3_000) if n not in bad}
    assert {r.value for r in read_all(sink_lab.servers, f"{topic}-dlq")} == {f"bad {n}".encode() for n in bad}
