"""How long it takes until a thousand topics exist that one batch of a source is the first to write to."""

import time
import uuid
from collections.abc import Sequence
from typing import Final

from tests.bench.results import AtMost, Measure

from penstock_model.connect.topic_creation_rules import TopicRules
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.topic_creation import TopicCreator

__all__ = ["create_topics", "new_topics_rows"]

_TOPICS: Final = 1_000
_RULES: Final = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


def create_topics(servers: str) -> float:
    """Seconds that a task's first batch waits for its topics."""
    client = {"bootstrap.servers": servers}
    rules = TopicRules.of(_RULES, enabled=True)
    assert rules is not None
    creator = TopicCreator(ClientSettings(producer=client, consumer=client, admin=client), rules)
    run = uuid.uuid4().hex
    begun = time.monotonic()
    creator.ensure(f"{run}.{n}" for n in range(_TOPICS))
    return time.monotonic() - begun


def new_topics_rows(seconds: Sequence[float]) -> list[Measure]:
    """Only Penstock: Kafka Connect creates one topic after the other, before the record that needs it."""
    return [Measure(f"{_TOPICS:,} new topics of one batch: created within", "s", [*seconds], [], AtMost(5))]
