"""What users set of producers, and what becomes of records where they did."""

import pytest

from ..lab import LOG, Lab, failed

AT_LEAST_ONCE = {"delivery.guarantee": "at-least-once"}


def test_a_source_at_least_once_delivers_with_acks_of_one_broker(lab: Lab) -> None:
    topic = lab.topic()
    _, task = lab.source([["a"], ["b"]], topic, **AT_LEAST_ONCE, **{"producer.override.acks": "1"})
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.values(topic) == ["a", "b"]


def test_a_sink_writes_dead_letters_with_acks_of_one_broker(lab: Lab) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq")
    lab.produce(topic, "good", "boom")
    picky = {"value.converter": "scripted_steps:Picky", "value.converter.on": "boom"}
    name, task = lab.sink(
        topic,
        **picky,
        **LOG,
        **{"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq, "producer.override.acks": "1"},
    )
    lab.wait_committed(name, topic, 2)
    task.stop()
    assert lab.values(dlq) == ["boom"]


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_record_of_the_year_1970_stays_one(lab: Lab, guarantee: str) -> None:
    """librdkafka takes 0 for now; a millisecond later is the least that it can say."""
    topic = lab.topic()
    script = [[{"value": "zero", "timestamp": 0}, {"value": "one", "timestamp": 1}, "none"]]
    _, task = lab.source(script, topic, **{"delivery.guarantee": guarantee})
    lab.journal.count("commit", 1)
    task.stop()
    assert [lab.timestamp(topic, n) for n in (0, 1)] == [1, 1]
    assert lab.timestamp(topic, 2) > 1_600_000_000_000


def test_a_failure_is_reported_in_whole_sentences(lab: Lab) -> None:
    topic = lab.topic()
    _, task = lab.source([[{"value": "x", "repeat": 2_000_000}]], topic)
    message = failed(task)
    assert "Correct the data or the configuration" in message
    assert ".." not in message
