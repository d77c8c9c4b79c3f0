"""`spec.limits` holds back a source and a sink, and loses nothing."""

import time

from ..lab import Lab
from ..running import manifest, new_name, until

RATE = 100
BURST = 2 * RATE
"""Records that may come early: the credit of a second, and the batch that is under way."""


def test_a_source_moves_no_more_records_than_its_limit_and_none_is_missing(lab: Lab) -> None:
    topic = lab.topic()
    document = manifest(new_name(), "Datagen", {"topic": topic, "rate": 5_000, "value.converter": "JsonConverter"})
    document["spec"]["limits"] = {"recordsPerSecond": RATE}
    begun = time.monotonic()
    _, task = lab.start(document)
    until(lambda: len(lab.values(topic)) >= 3 * RATE)
    values = lab.values(topic)
    assert len(values) <= RATE * (time.monotonic() - begun) + BURST
    task.stop()


def test_a_sink_reads_a_backlog_at_its_limit_and_commits_all_of_it(lab: Lab) -> None:
    topic = lab.topic()
    sent = [f"v{n}" for n in range(4 * RATE)]
    lab.produce(topic, *sent)
    document = lab.sink_manifest(topic)
    document["spec"]["limits"] = {"recordsPerSecond": RATE}
    begun = time.monotonic()
    name, task = lab.start(document)
    assert lab.journal.values(len(sent)) == sent
    assert len(sent) <= RATE * (time.monotonic() - begun) + BURST
    task.stop()
    assert lab.committed(name, topic) == len(sent)
