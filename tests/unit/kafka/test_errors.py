"""Kafka's errors become ours: what may pass is tried again, what needs a person is told."""

import pytest
from confluent_kafka import KafkaError

from penstock import ConnectError, RetriableError
from penstock_kafka.errors import translated


@pytest.mark.parametrize(
    "code", [KafkaError._DESTROY_BROKER, KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError.NOT_COORDINATOR]
)
def test_a_broker_that_becomes_unavailable_is_a_temporary_trouble(code: int) -> None:
    assert isinstance(translated(KafkaError(code), "Asking"), RetriableError)


@pytest.mark.parametrize("code", [KafkaError._INVALID_ARG, KafkaError._FAIL, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_what_no_time_heals_is_reported(code: int) -> None:
    error = translated(KafkaError(code), "Asking")
    assert isinstance(error, ConnectError)
    assert not isinstance(error, RetriableError)
    assert str(error).startswith("Asking: ")


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "Raise the topic's max.message.bytes."),
        (KafkaError.RECORD_LIST_TOO_LARGE, "Raise the topic's segment.bytes: a batch must fit into a segment."),
    ],
)
def test_what_helps_against_records_that_are_too_large_is_reported(code: int, remedy: str) -> None:
    assert str(translated(KafkaError(code), "Writing to topic 't'")).endswith(remedy)
