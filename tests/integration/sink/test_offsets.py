"""Where a sink starts, what it commits, and what it does not see."""

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from ..lab import Lab, failed
from ..running import new_name, next_life, until

SOON = {"offset.flush.interval.ms": "200"}


@pytest.mark.parametrize("to", [1, None])
def test_a_group_that_is_reset_while_its_sink_runs_is_reported_with_what_to_do(lab: Lab, to: int | None) -> None:
    topic, name = lab.topic(), new_name("reset")
    lab.produce(topic, "a", "b", "c")
    _, task = lab.sink(topic, name=name, worker=SOON)
    lab.wait_committed(name, topic, 3)
    admin = AdminClient({"bootstrap.servers": lab.servers})
    group = f"connect-{name}"
    if to is None:
        admin.delete_consumer_groups([group])[group].result(30)
    else:  # as kafka-consumer-groups.sh --reset-offsets does
        places = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, to)])
        admin.alter_consumer_group_offsets([places])[group].result(30)
    lab.produce(topic, "d")
    line = task.await_log("Another client has set offsets of group")
    assert f"{topic}-0 from 3 to {'none' if to is None else to} (now 4)" in line
    assert "stop its connector first" in line
    lab.wait_committed(name, topic, 4)
    task.stop()
    assert task.log_text().count("Another client has set") == 1


def test_aborted_records_are_not_seen_unless_one_asks_for_them(lab: Lab) -> None:
    topic = lab.topic()
    producer = Producer({"bootstrap.servers": lab.servers, "transactional.id": new_name("tx")})
    producer.init_transactions(30)
    for value, commit in (("a", True), ("void", False), ("b", True)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    producer.close()
    name, task = lab.sink(topic, worker=SOON)
    assert lab.journal.values(2) == ["a", "b"]
    lab.wait_committed(name, topic, 6)  # past the last marker: there is no lag
    task.stop()
    _, task = lab.sink(topic, **{"consumer.override.isolation.level": "read_uncommitted"})
    assert lab.journal.values(5)[2:] == ["a", "void", "b"]
    task.stop()


@pytest.mark.parametrize(("reset", "expected"), [("earliest", ["old", "new"]), ("latest", ["new"])])
def test_where_nothing_is_committed_reading_begins_where_auto_offset_reset_says(
    lab: Lab, reset: str, expected: list[str]
) -> None:
    topic = lab.topic()
    lab.produce(topic, "old")
    name, task = lab.sink(topic, **{"consumer.override.auto.offset.reset": reset})
    task.await_event(lambda e: e["event"] == "progress" and "lag" in e)
    lab.produce(topic, "new")
    assert lab.journal.values(len(expected)) == expected
    task.stop()
    assert lab.committed(name, topic) == 2


LATEST = {"consumer.override.auto.offset.reset": "latest"}


def test_what_comes_while_a_sink_is_paused_from_its_start_is_written_when_it_continues(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "before")
    name, task = lab.start(lab.sink_manifest(topic, **LATEST), paused=True)
    task.await_state("PAUSED")
    lab.wait_committed(name, topic, 1)
    lab.produce(topic, "meanwhile")
    task.stop()
    _, task = lab.sink(topic, name=name, **LATEST)
    assert lab.journal.values(1) == ["meanwhile"]
    task.stop()


@pytest.mark.parametrize("commits", ["", "nothing"])
def test_what_comes_while_a_sink_that_began_at_the_end_is_unavailable_is_not_skipped(lab: Lab, commits: str) -> None:
    topic = lab.topic()
    lab.produce(topic, "before")
    name, task = lab.sink(topic, commits=commits, **LATEST)
    lab.wait_committed(name, topic, 1)
    task.kill()
    lab.produce(topic, "meanwhile")
    _, task = lab.sink(topic, name=name, commits=commits, **LATEST)
    assert lab.journal.values(1) == ["meanwhile"]
    task.stop()


@pytest.mark.slow
def test_what_comes_to_partitions_that_a_topic_gets_under_a_sink_that_began_at_the_end_is_not_skipped(
    lab: Lab,
) -> None:
    topic = lab.topic()
    lab.produce(topic, "before")
    name, task = lab.sink(topic, **LATEST, **{"consumer.override.metadata.max.age.ms": "4000"})
    lab.wait_committed(name, topic, 1)
    admin = AdminClient({"bootstrap.servers": lab.servers})
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
    for partition in range(4):
        lab.produce(topic, f"since {partition}", partition=partition)  # before the sink looks
    assert sorted(lab.journal.values(4)) == [f"since {partition}" for partition in range(4)]
    task.stop()


def test_a_write_gets_at_most_max_poll_records(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, *(f"v{n}" for n in range(7)))
    _, task = lab.sink(topic, **{"consumer.override.max.poll.records": "2"})
    lab.journal.values(7)
    task.stop()
    assert all(1 <= len(e["records"]) <= 2 for e in lab.journal.of("put"))


def test_a_sink_that_asks_to_wait_for_too_long_fails_and_continues_there(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    resource = lab.sink_manifest(topic, on={"a": {"do": "retriable", "times": 4}}, **{"sink.retry.timeout.ms": "700"})
    spec = lab.spec(resource)
    message = failed(lab.processes.task(spec))
    assert message.startswith("Exiting WorkerSinkTask due to unrecoverable exception: RetriableError: sink refused")
    times = [e["at"] for e in lab.journal.of("put")]
    assert len(times) == 3
    late = [t - times[0] - planned for t, planned in zip(times, (0.0, 0.3, 0.7), strict=True)]
    assert all(-0.01 <= x < 0.35 for x in late), late
    assert lab.committed(spec.connector, topic) is None
    task = lab.processes.task(next_life(spec))  # its writer knows nothing of the tries before
    lab.journal.count("put", 4)
    task.stop()


def test_a_tombstone_reaches_the_sink_as_none(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, None, key="k")
    _, task = lab.sink(topic, **{"value.converter": "JsonConverter"})
    assert lab.journal.values(1) == [None]
    task.stop()


def test_a_sink_that_asks_to_wait_does_not_hold_up_a_stop(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    name, task = lab.sink(topic, on={"a": {"do": "retriable", "after": 600}})
    lab.journal.count("put")
    trouble = task.await_event(lambda e: e["event"] == "progress" and e.get("trouble"))
    assert trouble["trouble"] == "write is retried (attempt 1): sink refused"
    task.stop()
    assert "is abandoned" not in task.log_text()
    assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["RUNNING", "UNASSIGNED"]
    assert lab.committed(name, topic) is None


@pytest.mark.parametrize(
    ("reset", "expected", "told"),
    [
        (
            "earliest",
            ["v6", "v7", "new"],
            "at 6 (auto.offset.reset=earliest); 4 offsets are gone, and 0 existing ones",
        ),
        ("latest", ["new"], "at 8 (auto.offset.reset=latest); 4 offsets are gone, and 2 existing ones"),
    ],
)
def test_a_sink_whose_next_records_are_gone_continues_where_auto_offset_reset_says_and_reports_it(
    lab: Lab, reset: str, expected: list[str], told: str
) -> None:
    topic, name = lab.topic(), new_name("late")
    lapse(lab, topic, name)
    _, task = lab.sink(topic, name=name, **{"consumer.override.auto.offset.reset": reset})
    line = task.await_log(f"{topic}-0 has no offset 2: the partition holds 6 to 8.")
    assert told in line
    lab.produce(topic, "new")
    assert lab.journal.values(2 + len(expected))[2:] == expected
    task.stop()
    assert lab.committed(name, topic) == 9


def lapse(lab: Lab, topic: str, name: str) -> None:
    """A group at offset 2 of a topic that holds 6 to 8."""
    lab.produce(topic, "v0", "v1")
    _, task = lab.sink(topic, name=name, worker=SOON)
    lab.journal.count("commit")
    task.stop()
    lab.produce(topic, *(f"v{n}" for n in range(2, 8)))
    admin = AdminClient({"bootstrap.servers": lab.servers})
    (done,) = admin.delete_records([TopicPartition(topic, 0, 6)]).values()
    done.result(30)


def test_what_a_group_holds_beyond_the_end_of_a_topic_that_was_recreated_is_left(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("beyond")
    lab.produce(topic, "a", "b")
    with lab.member(f"connect-{name}", topic) as member:
        member.commit(5)
    until(lambda: lab.members(f"connect-{name}") == 0)
    _, task = lab.sink(topic, name=name, worker=SOON)
    task.await_log(f"{topic}-0 has no offset 5: the partition holds 0 to 2. Reading continues at 0")
    assert lab.journal.values(2) == ["a", "b"]
    task.stop()
    assert lab.committed(name, topic) == 2
