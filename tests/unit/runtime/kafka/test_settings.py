"""The properties that producers without transactions are made with."""

from typing import Any

import pytest
from confluent_kafka import Producer

from penstock_runtime.kafka.settings import ClientSettings

IN_FLIGHT = "max.in.flight.requests.per.connection"


def producer(**properties: str) -> dict[str, Any]:
    given = {name.replace("_", "."): text for name, text in properties.items()}
    settings = ClientSettings(producer={"bootstrap.servers": "localhost:1", **given}, consumer={}, admin={})
    config = settings.for_plain_producer(client_id="c")
    Producer(config).close()  # librdkafka takes them
    return config


def test_a_producer_is_idempotent_as_javas_is() -> None:
    assert producer()["enable.idempotence"] is True


@pytest.mark.parametrize("given", [{"acks": "1"}, {"acks": "0"}, {"retries": "0"}])
def test_what_contradicts_idempotence_turns_it_off_and_order_is_kept(given: dict[str, str]) -> None:
    config = producer(**given)
    assert (config["enable.idempotence"], config[IN_FLIGHT]) == (False, 1)


def test_without_idempotence_one_request_is_in_flight_unless_the_user_says_otherwise() -> None:
    assert producer(enable_idempotence="false")[IN_FLIGHT] == 1
    assert producer(enable_idempotence="false", max_in_flight_requests_per_connection="4")[IN_FLIGHT] == "4"


def test_more_requests_in_flight_than_idempotence_takes_turn_it_off() -> None:
    config = producer(max_in_flight_requests_per_connection="6")
    assert (config["enable.idempotence"], config[IN_FLIGHT]) == (False, "6")


def test_acks_of_all_brokers_leave_idempotence_on() -> None:
    assert producer(acks="-1")["enable.idempotence"] is True
