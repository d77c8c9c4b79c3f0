"""A transactional producer that is made anew while its life may not write, or Kafka does not answer: it stays closable."""

import pytest

from penstock.errors import RetriableError
from penstock_kafka.errors import TransactionAborted
from penstock_runtime.kafka.producer_records import Outgoing
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.transactional_producer import TransactionalProducer

from ..lab import Lab
from ..running import new_name

pytestmark = pytest.mark.slow


class Making:
    """A producer that is made on a real broker, and anew only while nothing is `away`."""

    def __init__(self, lab: Lab) -> None:
        client = {"bootstrap.servers": lab.servers}
        self.settings = ClientSettings(producer=client, consumer=client, admin=client)
        self.refusals = Refusals(self.settings)
        self.away = False

    def producer(self) -> TransactionalProducer:
        return TransactionalProducer(
            self.settings, new_name("anew"), client_id="anew", refusals=self.refusals, check=self._check
        )

    def _check(self) -> None:
        if self.away:
            raise RetriableError("The status topic does not answer")


@pytest.fixture
def making(lab: Lab) -> Making:
    return Making(lab)


def test_a_producer_that_cannot_be_recreated_between_transactions_is_closed(lab: Lab, making: Making) -> None:
    topic = lab.topic(max_message_bytes="5000")
    producer = making.producer()
    producer.begin()
    assert producer.send(Outgoing(1, topic, [b"a"])) == []
    producer.commit()
    making.away = True  # as its batches are too large for the topic, another is made now
    with pytest.raises(TransactionAborted, match="does not answer"):
        producer.begin()
    producer.abort()
    producer.close()
    assert lab.values(topic) == ["a"]


def test_a_producer_that_cannot_be_recreated_after_a_refusal_says_why(lab: Lab, making: Making) -> None:
    topic = lab.topic(cleanup_policy="compact")
    making.refusals.isolate(set(), 1 << 20)
    producer = making.producer()
    producer.begin()
    making.away = True
    with pytest.raises(TransactionAborted, match="does not answer"):
        producer.send(Outgoing(2, topic, [b"a", b"b"], [b"k", None]))
    producer.abort()
    producer.close()
    assert lab.values(topic) == []
