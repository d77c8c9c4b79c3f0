"""What compaction leaves of an offsets topic in which a life was fenced: its last committed offset (decision 0001)."""

import uuid

import pytest

from penstock_kafka.errors import Fenced, TransactionAborted
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.offsets_topic import load
from penstock_runtime.kafka.producer_buffer import Outgoing
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.transactional_producer import TransactionalProducer, fence

from ..reading import Read, create, read_all
from ..running import until


def test_an_offset_that_was_aborted_after_a_committed_one_does_not_take_its_place(kafka: str) -> None:
    name, topic = f"c{uuid.uuid4().hex[:10]}", f"compacted-{uuid.uuid4().hex[:10]}"
    create(kafka, topic, 1, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01")
    client = {"bootstrap.servers": kafka}
    settings = ClientSettings(producer=client, consumer=client, admin=client)
    key = f'["{name}",{{"p":0}}]'.encode()

    def writes(life: TransactionalProducer, n: int) -> None:
        life.begin()
        life.send(Outgoing(length=1, topic=topic, key=[key], value=[b'{"n":%d}' % n]))

    life = TransactionalProducer(settings, name, client_id="life")
    for n in (1, 2):
        writes(life, n)
        life.commit()
    writes(life, 3)
    until(lambda: len(of(key, read_all(kafka, topic, isolation="read_uncommitted"))) == 3, what="all three are there")
    fence(settings, [name])
    with pytest.raises((Fenced, TransactionAborted)):
        life.commit()
    life.close()

    other = StatusWriter(settings, client_id="other")

    def compacted() -> bool:
        other.write(topic, [(b"other", b"x")])  # the segment that is written to is left alone
        return b'{"n":1}' not in [r.value for r in of(key, read_all(kafka, topic))]

    until(compacted, what="the first record was compacted away")
    other.close()
    assert [dict(o) for o in load(settings, name, topic=topic).offsets.values()] == [{"n": 2}]


def of(key: bytes, records: list[Read]) -> list[Read]:
    return [r for r in records if r.key == key]
