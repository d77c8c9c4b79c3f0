"""Why Kafka cannot be reached, in a sentence."""

import pytest

from penstock_kafka.diagnosis import ClientError, connection_sentence, is_of_settings


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ClientError("_AUTHENTICATION", "SASL authentication error"), "does not accept the credentials"),
        (ClientError("_SSL", "certificate verify failed"), "the TLS handshake"),
        (ClientError("_TRANSPORT", "SSL handshake failed: Disconnected"), "the TLS handshake"),
        (ClientError("_RESOLVE", "Failed to resolve 'kafka:9092'"), "a host name does not resolve"),
        (ClientError("_TRANSPORT", "Connect failed: Connection refused"), "nothing listens there"),
        (ClientError("_TRANSPORT", "Disconnected"), "has not answered for 10 s (Disconnected)"),
        (ClientError("_ALL_BROKERS_DOWN", "1/1 brokers are down"), "has not answered for 10 s."),
    ],
)
def test_the_cause_is_reported_with_the_servers(error: ClientError, told: str) -> None:
    text = connection_sentence("kafka:9092", [ClientError("_TRANSPORT", "Disconnected"), error], 10)
    if error.name != "_ALL_BROKERS_DOWN":
        assert told in text
    assert text.startswith("Kafka at kafka:9092 ")


def test_what_changes_from_one_try_to_the_next_is_not_in_the_sentence() -> None:
    first = ClientError("_TRANSPORT", "sasl_plaintext://b:1/bootstrap: Disconnected (after 5ms in state CONNECT)")
    again = ClientError(
        "_TRANSPORT",
        "sasl_plaintext://b:1/bootstrap: Disconnected (after 7ms in state CONNECT, 3 identical error(s) suppressed)",
    )
    assert connection_sentence("b:1", [first]) == connection_sentence("b:1", [again])


def test_waiting_hardly_helps_against_wrong_credentials_but_against_an_unavailable_broker() -> None:
    assert is_of_settings(ClientError("_AUTHENTICATION", "no"))
    assert not is_of_settings(ClientError("_TRANSPORT", "Connection refused"))
