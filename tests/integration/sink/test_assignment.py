"""Which task reads which partition, also of topics and partitions that come later."""

import zlib

from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from penstock_model.contracts.task_spec import TaskSpec

from ..lab import Lab
from ..running import new_name, specs


def owner(topic: str, partition: int, tasks: int) -> int:
    return (zlib.crc32(topic.encode()) + partition) % tasks


def test_partitions_fall_to_tasks_by_rule_and_each_record_is_written_once(lab: Lab) -> None:
    one, two = lab.topic("one", 4), lab.topic("two", 3)
    for topic, count in ((one, 4), (two, 3)):
        for p in range(count):
            lab.produce(topic, f"{topic}-{p}", partition=p)
    resource = lab.sink_manifest(f"{one},{two}", tasks=3)
    resource["spec"]["tasksMax"] = 3
    found: list[TaskSpec] = specs(resource, lab.servers)
    tasks = [lab.processes.task(s) for s in found]
    assert sorted(lab.journal.values(7)) == sorted(f"{t}-{p}" for t, c in ((one, 4), (two, 3)) for p in range(c))
    for task in tasks:
        task.await_state("RUNNING")
    opened = lab.journal.count("open", 3)
    for task in tasks:
        task.stop()
    expected = [
        [f"{t}-{p}" for t, c in ((one, 4), (two, 3)) for p in range(c) if owner(t, p, 3) == number]
        for number in range(3)
    ]
    assert sorted(e["partitions"] for e in opened) == sorted(expected)
    assert len(lab.journal.put(7)) == 7


def test_a_new_partition_is_read_from_its_start(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    name, task = lab.sink(topic, **{"consumer.override.metadata.max.age.ms": "300"})
    lab.journal.values(1)
    admin = AdminClient({"bootstrap.servers": lab.servers})
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
    lab.produce(topic, "b", partition=1)
    assert lab.journal.put(2)[-1][:4] == [topic, 1, 0, "b"]
    task.stop()
    assert (lab.committed(name, topic, 0), lab.committed(name, topic, 1)) == (1, 1)
    assert [e["partitions"] for e in lab.journal.of("open")] == [[f"{topic}-0"], [f"{topic}-1"]]


def test_a_topic_that_does_not_exist_yet_is_awaited_and_not_made(lab: Lab) -> None:
    topic, other = new_name("later"), lab.topic()
    lab.produce(other, "a")
    _, task = lab.sink(f"{other},{topic}", **{"consumer.override.metadata.max.age.ms": "300"})
    assert lab.journal.values(1) == ["a"]
    trouble = task.await_event(lambda e: e["event"] == "progress" and e.get("trouble"))
    assert trouble["trouble"] == f"Waiting for topics that do not exist, or that may not be read: {topic}"
    assert topic not in AdminClient({"bootstrap.servers": lab.servers}).list_topics(timeout=30).topics
    lab.produce(topic, "b")  # the broker makes it
    assert lab.journal.values(2) == ["a", "b"]
    task.await_event(lambda e: e["event"] == "progress" and e.get("trouble", "") is None)
    task.stop()
