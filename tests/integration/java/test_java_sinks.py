"""Java sinks: what their tasks are given, in which order, and what is committed."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from penstock_model.contracts.task_spec import TaskState

from ..reading import create, produce
from ..running import until
from .probe_plugin import SINK, Probe, ProbeLab, probe, probe_lab, sink_lab

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

SOON: Final = {
    "offset.flush.interval.ms": "200",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
}


def numbers(first: int, last: int) -> list[bytes | None]:
    return [str(n).encode() for n in range(first, last)]


def texts(of: Iterable[bytes | None]) -> list[str]:
    return [each.decode() for each in of if each is not None]


# What a user of Java sinks does first: it belongs to `make test`, though it may take over 5 s.
def test_a_java_sink_gets_every_record_and_continues_after_a_stop(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 3_000))
    run = sink_lab.run(topic)
    until(lambda: len(sink_lab.out) == 3_000, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 3_000))
    calls = [line for line in sink_lab.journal if not line.startswith("put")]
    assert calls == [
        "start ",
        "open [0] of [0]",
        "flush {0=3000}",
        "preCommit {0=3000} allows {0=3000}",
        "close [0]",
        "stop",
    ]
    produce(sink_lab.servers, topic, numbers(3_000, 3_010))
    run = sink_lab.run(topic)
    until(lambda: len(sink_lab.out) >= 3_010, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 3_010))


@pytest.mark.slow
def test_a_backlog_reaches_put_in_thousands(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic, partitions=3)
    for partition in range(3):
        produce(sink_lab.servers, topic, numbers(0, 30_000), partition=partition)
    run = sink_lab.run(topic)
    until(lambda: len(sink_lab.out) == 90_000, what=run.last_words)
    run.stop()
    puts = [int(line.split()[1]) for line in sink_lab.journal if line.startswith("put ") and "nothing" not in line]
    assert sum(puts) == 90_000
    assert max(puts) >= 2_000
    assert not run.jvms() or all("SparkSubmit" not in " ".join(p.cmdline()) for p in run.jvms())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commits", "expected"), [("default", 100), ("40", 40), ("null", None), ("nothing", None), ("beyond", None)]
)
def test_only_what_pre_commit_returned_is_committed(
    sink_lab: ProbeLab, topic: str, commits: str, expected: int | None
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    run = sink_lab.run(topic, {"commits": commits}, worker=SOON)
    until(lambda: any("preCommit {0=100}" in line for line in sink_lab.journal), what=run.last_words)
    run.stop()
    assert sink_lab.committed(topic) == expected
    assert len(sink_lab.out) == 100
    produce(sink_lab.servers, topic, numbers(100, 101))
    again = sink_lab.run(topic, worker=SOON)
    until(lambda: len(sink_lab.out) >= 201 - (expected or 0), what=again.last_words)
    again.stop()
    assert sink_lab.out == texts([*numbers(0, 100), *numbers(expected or 0, 101)])


@pytest.mark.slow
def test_pre_commit_follows_the_flush_interval_and_requests(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 10))
    run = sink_lab.run(topic)  # the interval is a minute
    until(lambda: len(sink_lab.out) == 10, what=run.last_words)
    until(lambda: sink_lab.journal.count("put nothing") >= 3, what=run.last_words)
    assert not any("preCommit" in line for line in sink_lab.journal)
    run.stop()
    assert sink_lab.committed(topic) == 10
    produce(sink_lab.servers, topic, numbers(10, 20))
    run = sink_lab.run(topic, {"request": "commit"})
    until(lambda: any("preCommit {0=20}" in line for line in sink_lab.journal), what=run.last_words)
    until(lambda: sink_lab.committed(topic) == 20, what=run.last_words)
    run.stop()


@pytest.mark.slow
def test_offsets_that_the_task_sets_as_it_opens_are_where_it_begins(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    run = sink_lab.run(topic, {"begin": "90"})
    until(lambda: len(sink_lab.out) == 10, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(90, 100))


@pytest.mark.slow
def test_a_task_that_rewinds_gets_the_records_again(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    run = sink_lab.run(topic, {"rewind": "60", "at": 100}, worker=SOON)
    until(lambda: len(sink_lab.out) >= 140, what=run.last_words)
    until(lambda: sink_lab.committed(topic) == 100, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts([*numbers(0, 100), *numbers(60, 100)])


@pytest.mark.slow
def test_a_partition_that_the_task_pauses_waits_and_continues_where_it_was(
    sink_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    resume = tmp_path / "resume"
    # It lets nothing be committed: what it has stays with it, and does not come again.
    run = sink_lab.run(topic, {"pause": "yes", "at": 100, "resume": resume, "commits": "nothing"})
    until(lambda: len(sink_lab.out) == 100, what=run.last_words)
    run.await_log("The sink has paused")
    produce(sink_lab.servers, topic, numbers(100, 200))
    puts = sink_lab.journal.count("put nothing")
    until(lambda: sink_lab.journal.count("put nothing") > puts + 1, what=run.last_words)
    assert len(sink_lab.out) == 100
    resume.touch()
    until(lambda: len(sink_lab.out) >= 200, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 200))


@pytest.mark.slow
@pytest.mark.parametrize("timeout", [None, 100])
@pytest.mark.parametrize("action", ["retriable", "kafka retriable"])
def test_a_retriable_exception_of_put_brings_the_same_batch_again(
    sink_lab: ProbeLab, topic: str, action: str, timeout: int | None, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    marker = tmp_path / "times"
    config = {"put.action": action, "put.once": marker, "put.times": 3, **({"timeout": timeout} if timeout else {})}
    run = sink_lab.run(topic, config, restart={"policy": "Never"})
    until(lambda: len(sink_lab.out) >= 100, what=run.last_words)
    run.stop()
    assert sink_lab.out == texts(numbers(0, 100))
    puts = [line for line in sink_lab.journal if line.startswith("put ") and line != "put nothing"]
    assert len(puts) >= 4
    assert len(set(puts[:4])) == 1
    assert marker.stat().st_size == 3


@pytest.mark.slow
def test_what_pre_commit_throws_brings_the_records_since_the_last_commit_again(
    sink_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    config = {"preCommit.action": "throw", "preCommit.once": tmp_path / "once", "at": 100, "commits": "20"}
    run = sink_lab.run(topic, config, worker=SOON, restart={"policy": "Never"})
    until(lambda: len(sink_lab.out) > 100 and sink_lab.out[-1] == "99", what=run.last_words)
    run.stop()
    first, again = sink_lab.out[:100], sink_lab.out[100:]
    assert first == texts(numbers(0, 100))
    assert again in ([*first], first[20:], first[10:])  # since the last commit, which may have come after the first put
    assert sink_lab.committed(topic) == 20
    assert "its preCommit() failed" in run.log_text()


@pytest.mark.slow
def test_partitions_are_shared_by_tasks_and_new_ones_are_opened(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic, partitions=4)
    for partition in range(4):
        produce(sink_lab.servers, topic, numbers(100 * partition, 100 * partition + 100), partition=partition)
    run = sink_lab.run(topic, tasks_max=2)
    until(lambda: len(sink_lab.out) == 400, what=run.last_words)
    run.stop()
    assert sorted(map(int, sink_lab.out)) == list(range(400))
    opened = sorted(line for line in sink_lab.journal if line.startswith("open"))
    assert len(opened) == 2
    assert {line.partition(" of ")[0] for line in opened} in (
        {"open [0, 2]", "open [1, 3]"},
        {"open [0, 1]", "open [2, 3]"},
    )


@pytest.mark.slow
def test_a_java_sink_reads_topics_by_a_regular_expression(sink_lab: ProbeLab, topic: str) -> None:
    for each in ("a", "b"):
        create(sink_lab.servers, f"{topic}-{each}")
        produce(sink_lab.servers, f"{topic}-{each}", [each.encode()])
    run = sink_lab.run(topic, {"topics": "", "topics.regex": f"{topic}-.*"})
    until(lambda: len(sink_lab.out) == 2, what=run.last_words)
    run.stop()
    assert sorted(sink_lab.out) == ["a", "b"]


@pytest.mark.slow
def test_a_paused_java_sink_gets_no_records(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 10))
    spec = sink_lab.spec(topic)
    task = sink_lab.processes.task(spec.model_copy(update={"state": TaskState.PAUSED}))
    task.await_state("PAUSED")
    until(lambda: "put nothing" in sink_lab.journal, what=task.last_words)
    task.stop()
    assert sink_lab.out == []
    assert sink_lab.journal[-2:] == ["close [0]", "stop"]


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [False, True])
def test_positions_of_a_java_sink_are_altered_and_reset_as_the_connector_allows(
    sink_lab: ProbeLab, topic: str, tmp_path: Path, refuses: bool
) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, numbers(0, 100))
    run = sink_lab.run(topic)
    until(lambda: len(sink_lab.out) == 100, what=run.last_words)
    run.stop()
    file, positions = tmp_path / "sink.yaml", tmp_path / "positions.json"
    resource = sink_lab.manifest(topic, {"alterOffsets.action": "throw"} if refuses else {})
    resource["spec"]["state"] = "Stopped"
    file.write_text(json.dumps(resource))
    common = (str(file), "--plugin-path", str(sink_lab.probe.folder), "--bootstrap-servers", sink_lab.servers)
    wanted = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 42}}
    positions.write_text(json.dumps({"offsets": [wanted]}))
    done = sink_lab.command("offsets", "alter", *common, "--offsets", str(positions), "--yes")
    if refuses:
        assert f"cannot alter the offsets of {SINK}: ConnectException: the slot is gone" in done.stdout + done.stderr
        assert sink_lab.committed(topic) == 100
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert sink_lab.committed(topic) == 42
    done = sink_lab.command("offsets", "reset", *common, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sink_lab.committed(topic) is None


@pytest.mark.slow
def test_a_topic_of_five_hundred_partitions_is_written_and_committed(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic, 500)
    produce(sink_lab.servers, topic, numbers(0, 20_000))  # keyless: the client spreads them
    for partition in range(0, 500, 7):
        produce(sink_lab.servers, topic, numbers(0, 10), partition=partition)
    run = sink_lab.run(topic, tasks_max=2, worker=SOON)
    until(lambda: len(sink_lab.out) >= 20_720, what=run.last_words, moving=lambda: len(sink_lab.out))
    run.stop()
    assert len(sink_lab.out) == 20_720
    again = sink_lab.run(topic, worker=SOON)
    produce(sink_lab.servers, topic, numbers(0, 1), partition=499)
    until(lambda: len(sink_lab.out) > 20_720, what=again.last_words)
    again.stop()
    assert len(sink_lab.out) == 20_721
