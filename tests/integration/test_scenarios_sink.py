import pytest
from .lab import Lab

def test_try(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", "b")
    name, task = lab.sink(topic)
    assert lab.journal.values(2) == ["a", "b"]
    task.stop()
    assert lab.committed(name, topic) == 2
    print(lab.journal.events, lab.status(f"status-task-{name}-0"))

def test_src(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source([["a", "b"], ["c"]], topic)
    lab.journal.count("commit", 2)
    task.stop()
    print(lab.values(topic), lab.offset_records(name), lab.journal.events)
    assert 0
