"""Describe why the operator cannot reach Kafka, in a message that is stable as long as the cause is."""

from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError

from penstock_kafka.diagnosis import CONNECTION_ERRORS, ClientError, connection_sentence, is_of_settings
from penstock_kafka.errors import AUTHORIZATION

__all__ = ["ClientErrors", "needs_other_settings", "trouble_sentence"]

_CONSEQUENCES: Final = frozenset(
    (KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)  # noqa: SLF001 (librdkafka's own names of the codes)
)


class ClientErrors:
    """Errors that a client has reported in the background since brokers last responded. For one thread."""

    def __init__(self) -> None:
        self._errors: list[KafkaError] = []
        self._cause: KafkaError | None = None

    def add(self, error: KafkaError) -> None:
        """Add an error; the client's error callback."""
        self._errors.append(error)

    def clear(self) -> None:
        """Forget the errors, since brokers have responded."""
        self._errors.clear()
        self._cause = None

    def cause(self, answer: KafkaError | None = None) -> KafkaError | None:
        """Return the most informative error, a cause rather than its consequence; None: none since the last call.

        Args:
            answer: error of a failed request, mostly that no broker responded; None: no request failed.
        """
        errors, self._errors = self._errors, []
        if not errors and answer is None:
            return None
        causes = [e for e in errors if e.code() not in _CONSEQUENCES]
        # Failing to connect at all is less informative than an error on a connection, such as of TLS or authentication.
        self._cause = min(causes, key=_is_vague, default=self._cause)
        return self._cause or next(e for e in (answer, *errors) if e is not None)


def needs_other_settings(error: KafkaError) -> bool:
    """Return whether the client can probably connect only with other properties, such as credentials or certificates."""
    return is_of_settings(ClientError.of(error)) or error.code() == KafkaError._INVALID_ARG  # noqa: SLF001


def trouble_sentence(error: KafkaError, servers: str, topic: str, redact: Callable[[str], str]) -> str:
    """Return why the status topic cannot be used.

    Args:
        error: error of librdkafka.
        servers: `bootstrap.servers`.
        topic: the status topic.
        redact: removes secrets from a string.
    """
    if error.code() in AUTHORIZATION:
        text = f"Kafka does not allow the operator to read topic {topic} (Describe and Read are needed): {error.str()}"
    elif error.name() in CONNECTION_ERRORS:
        text = connection_sentence(servers, [ClientError.of(error)])
    else:
        text = f"cannot read topic {topic} of Kafka at {servers}: {error.str()} ({error.name()})"
    return redact(text)


def _is_vague(error: KafkaError) -> bool:
    return error.code() == KafkaError._TRANSPORT  # noqa: SLF001
