"""What keeps the operator from Kafka, in a sentence that stays the same while the cause does."""

import re
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError

__all__ = ["credentials_refused", "sentence"]

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


def credentials_refused(error: KafkaError) -> bool:
    """Whether other credentials may help."""
    return error.code() in _AUTHENTICATION or error.code() == KafkaError._SSL  # noqa: SLF001


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
