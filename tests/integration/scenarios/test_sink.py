"""Scenarios of area sink, and of others what concerns sinks, on a real broker; the rest is in `test_sink_*.py`."""

import time
from contextlib import nullcontext
from itertools import pairwise

import pytest

from ..lab import LOG, Lab, failed
from ..running import new_name, next_life, until

SOON = {"offset.flush.interval.ms": "200"}


@pytest.mark.scenario("sink-callback-order")
def test_the_life_of_a_sink(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "r0", "r1")
    name, task = lab.sink(topic, worker=SOON)
    lab.journal.count("commit")
    task.stop()
    start, opened, put, commit, close, stop = lab.journal.events
    assert [start["event"], stop["event"]] == ["start", "stop"]
    assert (opened["event"], opened["partitions"]) == ("open", [f"{topic}-0"])
    assert (put["event"], [r[:4] for r in put["records"]]) == ("put", [[topic, 0, 0, "r0"], [topic, 0, 1, "r1"]])
    assert (commit["event"], commit["offsets"], commit["messages"]) == ("commit", {f"{topic}-0": 2}, 1)
    assert (close["event"], close["partitions"]) == ("close", [f"{topic}-0"])
    assert lab.committed(name, topic) == 2


def test_what_was_written_since_the_last_commit_is_committed_on_the_way_out(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.sink(topic)
    lab.journal.count("open")
    lab.produce(topic, "a", "b")
    lab.journal.values(2)
    task.stop()
    assert lab.committed(name, topic) == 2
    assert lab.journal.kinds()[-3:] == ["commit", "close", "stop"]


@pytest.mark.slow
@pytest.mark.scenario("sink-idle-no-commit")
def test_an_idle_sink_is_left_untouched_however_many_intervals_pass(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.sink(topic, worker={"offset.flush.interval.ms": "500"})
    task.await_event(lambda e: e["event"] == "progress" and e.get("lag") == 0)  # it has looked, and found nothing
    time.sleep(3 * 0.5)  # three intervals, in which nothing is to happen
    assert lab.journal.kinds() == ["start", "open"]
    assert lab.committed(name, topic) is None
    lab.produce(topic, "a")
    lab.journal.count("commit")
    assert lab.committed(name, topic) == 1
    commits = len(lab.journal.of("commit"))
    time.sleep(3 * 0.5)
    task.stop()
    assert lab.journal.kinds() == ["start", "open", "put", *["commit"] * commits, "close", "stop"]
    assert lab.committed(name, topic) == 1


@pytest.mark.scenario("sink-retriable-timeout")
def test_a_sink_that_asks_to_wait_gets_the_same_batch_after_that_time(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", "b")
    name, task = lab.sink(
        topic,
        on={"b": {"do": "retriable", "after": 0.25, "times": 3}},
        **{"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.journal": lab.journal.path},
    )
    puts = lab.journal.count("put", 4)
    lab.journal.count("commit")
    task.stop()
    assert [e["event"] for e in lab.journal.of("put", "apply")] == ["apply", "apply", *["put"] * 4]  # converted once
    assert all(p["records"] == puts[0]["records"] and p["same"] == puts[0]["same"] for p in puts)
    gaps = [b["at"] - a["at"] for a, b in pairwise(puts)]
    assert all(0.24 <= g < 0.6 for g in gaps), gaps
    assert lab.committed(name, topic) == 2
    assert {s["state"] for s in lab.status(f"status-task-{name}-0")} == {"RUNNING", "UNASSIGNED"}


@pytest.mark.scenario("sink-put-throws")
def test_an_error_of_the_sink_is_the_end_even_where_errors_are_tolerated(lab: Lab) -> None:
    topic = lab.topic()
    resource = lab.sink_manifest(topic, on={"r2": {"do": "fatal"}}, **{"errors.tolerance": "all"})
    spec = lab.spec(resource, SOON)
    name, task = spec.connector, lab.processes.task(spec)
    lab.produce(topic, "r0", "r1")
    lab.journal.count("commit")
    lab.produce(topic, "r2")
    message = failed(task)
    assert message.startswith("Exiting WorkerSinkTask due to unrecoverable exception.")
    assert f"{topic}-0 offsets 2 to 2: ConnectError: sink refused" in message
    assert lab.committed(name, topic) == 2
    assert lab.journal.kinds()[-2:] == ["close", "stop"]

    before = len(lab.journal.put(3))
    failed(lab.processes.task(next_life(spec)))
    assert lab.journal.put(before + 1)[-1][2:4] == [2, "r2"]


@pytest.mark.scenario("sink-filtered-advance")
def test_filtered_records_advance_a_sink(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", "b")
    name, task = lab.sink(topic, worker=SOON, **{"transforms": "drop", "transforms.drop.type": "Filter"})
    lab.journal.count("commit")
    task.stop()
    assert "put" not in lab.journal.kinds()
    assert lab.committed(name, topic) == 2
    assert len(lab.status(f"status-topic-{topic}:connector-{name}")) == 1  # they count, as they were converted


@pytest.mark.slow
@pytest.mark.scenario("sink-regex-new-topic")
@pytest.mark.parametrize("busy", [False, True])
def test_a_new_topic_that_matches_is_read_from_its_start_also_by_a_busy_sink(lab: Lab, busy: bool) -> None:
    word = new_name("rx")
    first = lab.topic(f"{word}-1")
    lab.produce(first, "a")
    name, task = lab.sink(f"regex:{word}-.*", **{"consumer.override.metadata.max.age.ms": "2000"})
    lab.journal.values(1)
    with lab.stream(first) if busy else nullcontext():
        second = lab.topic(f"{word}-2")
        lab.produce(second, "b")
        # By default it would be five minutes.
        lab.journal.until(
            lambda: [r for e in lab.journal.events if e["event"] == "put" for r in e["records"] if r[0] == second], 1
        )
    until(lambda: lab.status(f"status-topic-{second}:connector-{name}"))
    task.stop()
    put = [r for e in lab.journal.of("put") for r in e["records"]]
    assert [r[:4] for r in put if r[0] == second] == [[second, 0, 0, "b"]]
    for topic in (first, second):
        (record,) = lab.status(f"status-topic-{topic}:connector-{name}")
        assert record["topic"]["name"] == topic
    opened = [e["partitions"] for e in lab.journal.of("open")]
    assert opened == [[f"{first}-0"], [f"{second}-0"]]  # Kafka Connect closes the others and opens all
    assert [r[2] for r in put if r[0] == first] == list(range(len(put) - 1))


@pytest.mark.scenario("active-topics-sink-original-name")
def test_the_topic_that_was_read_is_active_whatever_a_router_made_of_it(lab: Lab) -> None:
    topic = lab.topic("sk")
    lab.produce(topic, "a")
    route = {
        "transforms": "r",
        "transforms.r.type": "RegexRouter",
        "transforms.r.regex": "sk-(.*)",
        "transforms.r.replacement": "renamed-$1",
    }
    name, task = lab.sink(topic, **route)
    ((now, _, offset, _, original),) = lab.journal.put(1)
    task.stop()
    assert (now, original, offset) == (topic.replace("sk-", "renamed-"), topic, 0)
    assert len(lab.status(f"status-topic-{topic}:connector-{name}")) == 1
    assert lab.status(f"status-topic-{now}:connector-{name}") == []


@pytest.mark.scenario("active-topics-sink-reconfigured")
@pytest.mark.parametrize("by_pattern", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_topic_that_a_sink_does_not_read_any_more_leaves_its_active_topics(lab: Lab, by_pattern: bool) -> None:
    one, two, name = lab.topic("one"), lab.topic("two"), new_name("tt")
    lab.produce(one, "a")
    lab.produce(two, "b")
    for life, topics in enumerate((f"{one},{two}", f"regex:{two}|{two}-later" if by_pattern else two), 1):
        _, task = lab.sink(topics, name=name)
        lab.journal.count("open", life)
        lab.journal.values(2)
        if life == 2:
            until(lambda: lab.status(f"status-topic-{one}:connector-{name}")[-1] is None)
        task.stop()
    assert lab.status(f"status-topic-{two}:connector-{name}")[-1]
    assert len(lab.status(f"status-topic-{one}:connector-{name}")) == 2


@pytest.mark.scenario("offsets-sink-overridden-group")
def test_a_group_of_ones_own_takes_the_place_of_connects(lab: Lab) -> None:
    topic, group = lab.topic(), new_name("my-group")
    lab.produce(topic, "a")
    name, task = lab.sink(topic, worker=SOON, **{"consumer.override.group.id": group})
    lab.journal.count("commit")
    task.stop()
    assert lab.committed(name, topic, group=group) == 1
    assert lab.committed(name, topic) is None


@pytest.mark.scenario("offsets-commit-without-joining")
def test_a_group_with_members_is_left_to_them_before_anything_is_written(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("owned")
    lab.produce(topic, "a", "b")
    with lab.member(f"connect-{name}", topic) as member:
        member.commit(1)
        resource = lab.sink_manifest(topic, name=name)
        _, task = lab.start(resource)
        message = failed(task)
        assert f"group 'connect-{name}' has members: somebody-else at 127.0.0.1" in message
        assert "stop it there first" in message
        assert lab.journal.of("put") == []
    until(lambda: lab.members(f"connect-{name}") == 0)
    _, task = lab.start(resource)
    assert lab.journal.values(1) == ["b"]
    task.stop()
    assert lab.committed(name, topic) == 2


@pytest.mark.scenario("state-stuck-task")
def test_a_task_that_retries_without_end_stops_when_asked_and_loses_nothing(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    more = {
        "transforms": "f",
        "transforms.f.type": "scripted_steps:Refusing",
        "transforms.f.on": "a",
        "transforms.f.error": "retriable",
        "transforms.f.journal": lab.journal.path,
        "errors.retry.timeout": "-1",
        "errors.tolerance": "all",
    }
    name, task = lab.sink(topic, **more)
    lab.journal.count("apply", 3)
    task.stop()
    assert "is abandoned" not in task.log_text()  # it did not take the grace period
    assert lab.committed(name, topic) is None  # Kafka Connect passes over the record here


@pytest.mark.scenario("state-pause-source")
def test_a_sink_that_starts_paused_writes_nothing_until_it_is_started_unpaused(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("paused")
    lab.produce(topic, "a")
    resource = lab.sink_manifest(topic, name=name)
    _, task = lab.start(resource, paused=True)
    task.await_state("PAUSED")
    task.stop()
    assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["PAUSED", "UNASSIGNED"]
    assert lab.journal.of("put") == []
    _, task = lab.start(resource)
    assert lab.journal.values(1) == ["a"]
    task.stop()


@pytest.mark.scenario("active-topics-sink-original-name")
def test_a_topic_of_which_no_record_could_be_converted_is_not_active(lab: Lab) -> None:
    bad, good = lab.topic("bad"), lab.topic("good")
    lab.produce(bad, "boom")
    lab.produce(good, "a")
    more = {"value.converter": "scripted_steps:Picky", "value.converter.on": "boom", "errors.tolerance": "all"}
    name, task = lab.sink(f"{bad},{good}", **LOG, **more)
    lab.wait_committed(name, bad, 1)
    lab.wait_committed(name, good, 1)
    task.stop()
    assert len(lab.status(f"status-topic-{good}:connector-{name}")) == 1
    assert lab.status(f"status-topic-{bad}:connector-{name}") == []
