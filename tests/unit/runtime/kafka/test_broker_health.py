"""Whether brokers answer: a client tells once that they do not, so that it has to be asked."""

from confluent_kafka import KafkaError, KafkaException

from penstock_runtime.kafka.broker_health import BrokerHealth


class Brokers:
    """Brokers that are there or not, asked as a client asks them, and a clock."""

    def __init__(self) -> None:
        self.there = True
        self.asked = 0
        self.now = 100.0
        self.health = BrokerHealth(self._ask, clock=lambda: self.now)

    def _ask(self, seconds: float) -> None:
        self.asked += 1
        if not self.there:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def settle(self) -> str | None:
        self.health.probe()
        return self.health.trouble


def test_nobody_is_asked_while_nothing_is_in_doubt() -> None:
    brokers = Brokers()
    assert brokers.settle() is None
    assert brokers.asked == 0


def test_an_error_that_is_reported_once_holds_for_as_long_as_no_broker_answers() -> None:
    brokers = Brokers()
    brokers.there = False
    brokers.health.failed("refused")
    for _ in range(5):
        assert brokers.settle() == "refused"
        brokers.now += 10
    brokers.there = True
    assert brokers.settle() is None
    brokers.there = False
    assert brokers.settle() is None  # nothing was told of it


def test_an_error_of_one_broker_is_no_trouble_while_another_answers() -> None:
    brokers = Brokers()
    brokers.health.failed("refused")
    assert brokers.settle() is None
    assert brokers.asked == 1


def test_brokers_that_are_unavailable_are_asked_every_two_seconds_however_often_there_is_time_to() -> None:
    brokers = Brokers()
    brokers.there = False
    brokers.health.failed("refused")
    for _ in range(100):
        brokers.settle()
        brokers.now += 0.1
    assert brokers.asked == 5
