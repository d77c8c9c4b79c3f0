"""What keeps the operator from Kafka, in a sentence that stays the same while the cause does."""

import re
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError

__all__ = ["ClientErrors", "credentials_refused", "needs_other_settings", "sentence"]

_AUTHENTICATION: Final = frozenset(
    (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)  # noqa: SLF001 (librdkafka's own name of the code)
)
_NOT_ALLOWED: Final = frozenset((
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
))  # fmt: skip
_SILENT: Final = frozenset((KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN))  # noqa: SLF001
_NOISE: Final = (
    re.compile(r",? ?\d+ identical error\(s\) suppressed"),  # first: it has brackets within those of the others
    re.compile(r"\s*\(after \d+ms in state [^)]*\)"),
    re.compile(r"\s*\(\d+ms[^)]*\)"),
    re.compile(r"^\S+?://|/(bootstrap|\d+)(?=: )"),
)


_CONSEQUENCES: Final = frozenset((KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT))  # noqa: SLF001


class ClientErrors:
    """The errors that a client reported in the background since brokers answered it last. For one thread."""

    def __init__(self) -> None:
        self._errors: list[KafkaError] = []
        self._cause: KafkaError | None = None

    def add(self, error: KafkaError) -> None:
        """Take an error; the client's error callback."""
        self._errors.append(error)

    def clear(self) -> None:
        """Forget the errors: brokers have answered."""
        self._errors.clear()
        self._cause = None

    def cause(self, answer: KafkaError | None = None) -> KafkaError | None:
        """The error that says most, rather a cause than its consequence; None if there is none since the last call.

        Args:
            answer: what a request failed with: mostly that no broker answered.
        """
        errors, self._errors = self._errors, []
        if not errors and answer is None:
            return None
        causes = [e for e in errors if e.code() not in _CONSEQUENCES]
        # A broker's name is resolved, then connected to: the error of the broker that came furthest says most.
        self._cause = min(causes, key=_is_vague, default=self._cause)
        return self._cause or next(e for e in (answer, *errors) if e is not None)


def _is_vague(error: KafkaError) -> bool:
    return error.code() == KafkaError._TRANSPORT  # noqa: SLF001


def credentials_refused(error: KafkaError) -> bool:
    """Whether other credentials may help."""
    return error.code() in _AUTHENTICATION or error.code() == KafkaError._SSL  # noqa: SLF001


def needs_other_settings(error: KafkaError) -> bool:
    """Whether a client with the properties of this one will never connect."""
    return credentials_refused(error) or error.code() == KafkaError._INVALID_ARG  # noqa: SLF001


def sentence(error: KafkaError, servers: str, topic: str, redact: Callable[[str], str]) -> str:
    """The trouble.

    Args:
        error: librdkafka's.
        servers: `bootstrap.servers`.
        topic: the status topic.
        redact: takes secrets out.
    """
    text = error.str()
    for noise in _NOISE:
        text = noise.sub("", text)
    text = redact(text.strip())
    code = error.code()
    if code in _AUTHENTICATION:
        return f"Kafka at {servers} does not accept the credentials of the worker configuration: {text}"
    if code in _NOT_ALLOWED:
        return f"Kafka does not allow the operator to read topic {topic} (Describe and Read are needed): {text}"
    if code == KafkaError._RESOLVE:  # noqa: SLF001
        return f"The address of Kafka ({servers}) cannot be resolved: {text}"
    if code == KafkaError._SSL:  # noqa: SLF001
        return f"No TLS connection with Kafka at {servers}: {text}"
    if code in _SILENT:
        return f"Kafka at {servers} cannot be reached: {text}"
    return f"Topic {topic} of Kafka at {servers} cannot be read: {text} ({error.name()})"
