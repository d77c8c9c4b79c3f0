"""`transaction.boundary=connector`: a Java task ends its transactions, which are seen whole or not at all."""

import signal
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import psutil
import pytest

from penstock import ConfigError
from penstock_model.contracts.exit_codes import ExitCode

from ..checking import assert_exactly_once, seeded
from ..pods import Pods, pods
from ..reading import Reader, create, read_all
from ..running import next_life, until
from .probe_plugin import Probe, ProbeLab, await_jvm, host_jvms, probe, probe_lab

__all__ = ["Probe", "pods", "probe", "probe_lab"]

pytestmark = pytest.mark.slow

CONNECTOR: Final = {"transaction.boundary": "connector"}


def numbers(records: Any) -> list[int]:
    return [int(r.value.partition(b":")[2]) for r in records]


def offsets(lab: ProbeLab) -> list[bytes | None]:
    """The offsets that were committed, in their order."""
    key = f'["{lab.name}",{{"p":"0"}}]'.encode()
    return [r.value for r in read_all(lab.servers, "connect-offsets") if r.key == key]


def test_records_are_seen_in_the_transactions_that_the_connector_ends(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    # Polls of four: one that holds two ends, one without any, one that is ended as a whole, and one that is left open.
    config = {"batch": 4, "total": 16, "pause": 50, "commit.at": "0,2", "commit.polled": "12"}
    run = probe_lab.run(topic, {**config, **CONNECTOR})
    with Reader(probe_lab.servers, topic, isolation="read_uncommitted") as sent, probe_lab.reader(topic) as reader:
        sent.until(lambda: numbers(sent.records)[-1:] == [15])
        reader.count(12)
        run.stop()
        found = reader.to_end()
    assert numbers(found) == [*range(12)]
    gaps = [b.offset - a.offset for a, b in pairwise(found)]
    assert [n for n, gap in enumerate(gaps) if gap > 1] == [0, 2]  # where the markers of transactions are
    assert offsets(probe_lab) == [b'{"n":1}', b'{"n":3}', b'{"n":12}']


def test_aborted_records_are_never_seen_and_not_read_again(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    config = {"batch": 5, "total": 20, "pause": 50, "commit.at": "1,11", "abort.at": "3", "abort.polled": "10"}
    run = probe_lab.run(topic, {**config, "commit.polled": "20", **CONNECTOR})
    with probe_lab.reader(topic) as reader:
        reader.count(12)
        run.stop()
        assert numbers(reader.to_end()) == [0, 1, *range(10, 20)]
    assert offsets(probe_lab) == [b'{"n":2}', b'{"n":4}', b'{"n":10}', b'{"n":12}', b'{"n":20}']
    assert [line for line in probe_lab.journal if line.startswith("start")] == ["start 0"]


def test_a_poll_without_records_may_end_the_transaction_of_those_before(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"batch": 2, "total": 4, "commit.idle": "true", **CONNECTOR})
    with probe_lab.reader(topic) as reader:
        reader.count(4)
        until(lambda: "commit" in probe_lab.journal, what=run.last_words)
        polls = probe_lab.journal.count("poll")
        until(lambda: probe_lab.journal.count("poll") > polls + 10, what="it was polled again")
        run.stop()
    assert probe_lab.journal.count("commit") == 1


def test_a_transform_that_drops_a_record_leaves_its_boundary(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    dropping = {
        "transforms": "drop",
        "transforms.drop.type": "Filter",
        "transforms.drop.predicate": "all",
        "predicates": "all",
        "predicates.all.type": "TopicNameMatches",
        "predicates.all.pattern": ".*",
    }
    run = probe_lab.run(topic, {"batch": 3, "total": 9, "commit.at": "2,4", "abort.at": "7", **dropping, **CONNECTOR})
    until(lambda: offsets(probe_lab) == [b'{"n":3}', b'{"n":5}', b'{"n":8}'], what=run.last_words)
    run.stop()
    assert read_all(probe_lab.servers, topic) == []


def test_a_pause_and_a_stop_leave_an_open_transaction_to_be_read_again(
    probe_lab: ProbeLab, pods: Pods, topic: str
) -> None:
    create(probe_lab.servers, topic)
    config = {"batch": 1, "total": 5, "commit.at": "2", **CONNECTOR}
    task = pods.task(probe_lab.spec(topic, config))
    with Reader(probe_lab.servers, topic, isolation="read_uncommitted") as sent, probe_lab.reader(topic) as reader:
        sent.until(lambda: numbers(sent.records) == [*range(5)])
        task.control(2, "Paused")
        task.await_report("PAUSED", acted=2)
        assert numbers(reader.to_end()) == [0, 1, 2]  # it is not open during the pause
        task.control(3, "Running")
        sent.until(lambda: numbers(sent.records) == [*range(5), 3, 4])
        task.process.stop()
        assert numbers(reader.to_end()) == [0, 1, 2]
        run = probe_lab.run(topic, {**config, "commit.at": "4"})
        reader.count(5)
        run.stop()
        assert numbers(reader.to_end()) == [*range(5)]
    assert [line for line in probe_lab.journal if line.startswith("start")] == ["start 0", "start 3", "start 3"]


@pytest.mark.parametrize(
    ("at", "place"), [("at", "same record against topic/partition"), ("polled", "same transaction")]
)
def test_commit_and_abort_at_one_place_fail_the_task(probe_lab: ProbeLab, topic: str, at: str, place: str) -> None:
    create(probe_lab.servers, topic)
    both = {f"commit.{at}": "2", f"abort.{at}": "2"}
    log = probe_lab.fails(topic, {"batch": 2, "total": 4, **both, **CONNECTOR})
    assert f"Connector requested both commit and abort of {place}" in log
    assert read_all(probe_lab.servers, topic) == []


def test_a_transaction_that_is_left_open_is_named_with_the_remedy(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    short = {"producer.override.transaction.timeout.ms": "1000"}
    log = probe_lab.fails(topic, {"batch": 1, "total": 2, **short, **CONNECTOR})
    assert "cannot commit a transaction of ProbeSource, 3 times in a row: a transaction was open for" in log
    assert "set transaction.boundary to poll or interval" in log
    assert read_all(probe_lab.servers, topic) == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("UNSUPPORTED", "The connector does not support connector-defined transaction boundaries with the given"),
        (
            "null",
            "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not",
        ),
    ],
)
def test_a_connector_that_cannot_end_transactions_is_refused(
    probe_lab: ProbeLab, topic: str, answer: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as e:
        probe_lab.spec(topic, {"boundaries": answer, **CONNECTOR})
    (problem,) = e.value.problems
    assert problem.property == "transaction.boundary"
    assert problem.message.startswith(reason)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_kills_within_open_transactions_lose_and_double_nothing(probe_lab: ProbeLab, topic: str, rounds: int) -> None:
    random = seeded()
    create(probe_lab.servers, topic)
    size = 250
    spec = probe_lab.spec(topic, {"batch": 60, "pause": 5, "commit.at": f"*{size}", **CONNECTOR})
    with probe_lab.reader(topic) as reader, Reader(probe_lab.servers, topic, isolation="read_uncommitted") as sent:
        for life in range(rounds):
            more, victims = random.randrange(1, 1_000), random.choice([["jvm"], ["task"], ["jvm", "task"]])
            print(f"kill {life}: {' and '.join(victims)} after {more} records")
            task = probe_lab.processes.task(spec)
            jvm = await_jvm(task)
            sent.count(len(sent.records) + more)
            for victim in victims:
                with suppress(psutil.NoSuchProcess):  # it has died with the other one
                    (jvm if victim == "jvm" else task.process).kill()
            assert task.await_exit() in (ExitCode.LOST, -signal.SIGKILL), task.last_words()
            until(lambda: not host_jvms(task), what="its JVM has ended")  # noqa: B023
            spec = next_life(spec)
        task = probe_lab.processes.task(spec)
        reader.count(len(reader.to_end()) + 2 * size)
        task.stop()
        found = reader.to_end()
    assert_exactly_once(found, 1)
    assert len(found) % size == 0
