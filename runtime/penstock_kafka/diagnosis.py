"""Explain why Kafka is unreachable, in a sentence with the servers, the cause, and the remedy. Pure.

The sentence stays the same while the cause does, so parts of the client's text that vary between attempts are removed.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

__all__ = ["CHECK_CREDENTIALS", "CONNECTION_ERRORS", "ClientError", "connection_sentence", "is_of_settings"]


@dataclass(frozen=True, slots=True)
class ClientError:
    """Error that a client reported in the background: librdkafka's name and text."""

    name: str
    text: str

    @classmethod
    def of(cls, error: KafkaError) -> "ClientError":
        """Return the error that librdkafka passed to the error callback, or returned for a request."""
        return cls(error.name(), error.str())


@dataclass(frozen=True, slots=True)
class _Cause:
    """Cause of a failed connection to Kafka.

    Attributes:
        names: librdkafka's names of the errors.
        marker: text that identifies errors with other names, or "".
        cause: follows "Kafka at <servers>" in the sentence.
        advice: remedy.
        of_settings: whether a changed setting is more likely to help than waiting.
    """

    names: frozenset[str]
    marker: str
    cause: str
    advice: str
    of_settings: bool = False

    def fits(self, error: ClientError) -> bool:
        return error.name in self.names or bool(self.marker and self.marker in error.text.lower())


CHECK_CREDENTIALS: Final = "Check user name, password and sasl.mechanism, and the Secret that they come from."
_CAUSES: Final = (
    _Cause(
        frozenset(
            ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE")
        ),
        "",
        "does not accept the credentials",
        CHECK_CREDENTIALS,
        of_settings=True,
    ),
    _Cause(
        frozenset(("_SSL", "_SSL_CERT_VERIFY")),
        "ssl handshake failed",  # also if the other side just disconnects, which has the name of any lost connection
        "does not complete the TLS handshake",
        "Check the trusted certificates (ssl.truststore.location, ssl.ca.location), the host name in the brokers' "
        "certificate, and that this listener uses TLS.",
        of_settings=True,
    ),
    _Cause(
        frozenset(("_RESOLVE",)),
        "",
        "cannot be reached: a host name does not resolve",
        "Check the host names in bootstrap.servers, and the cluster's DNS.",
    ),
    _Cause(
        frozenset(),
        "refused",
        "cannot be reached: nothing listens there",
        "Check the ports in bootstrap.servers, that the brokers run, and that no network policy blocks the connection.",
    ),
)
_OTHERWISE: Final = (
    "Check bootstrap.servers, that its listener uses the protocol in security.protocol, and that no network policy blocks "
    "the connection."
)
_CONSEQUENCE: Final = "_ALL_BROKERS_DOWN"
CONNECTION_ERRORS: Final = frozenset(
    {name for cause in _CAUSES for name in cause.names} | {"_TIMED_OUT", "_TRANSPORT", _CONSEQUENCE}
)
"""librdkafka's names of the errors that `connection_sentence` explains."""
_NOISE: Final = (
    re.compile(
        r",? ?\d+ identical error\(s\) suppressed"
    ),  # must be first: its brackets are within those of the others
    re.compile(r"\s*\(after [^)]*\)"),
    re.compile(r"\s*\(\d+ms[^)]*\)"),
    re.compile(r"^\S+?://|/(bootstrap|\d+)(?=: )"),
)
_LONGEST: Final = 400
"""Maximum characters of the client's text."""


def connection_sentence(servers: str, errors: Iterable[ClientError], seconds: float | None = None) -> str:
    """Return a sentence that explains why Kafka is unreachable.

    Args:
        servers: `bootstrap.servers`.
        errors: errors that the client has reported, in any order.
        seconds: how long the client has tried, if known.
    """
    reported = [e for e in errors if e.name != _CONSEQUENCE]
    for cause in _CAUSES:
        if fitting := [e for e in reported if cause.fits(e)]:
            return f"Kafka at {servers} {cause.cause} ({_words([*fitting, *reported])}). {cause.advice}"
    duration = "" if seconds is None else f" for {seconds:.0f} s"
    detail = f" ({_words(reported)})" if reported else ""
    return f"Kafka at {servers} has not answered{duration}{detail}. {_OTHERWISE}"


def is_of_settings(error: ClientError) -> bool:
    """Return whether a changed setting is more likely to help than waiting: credentials, certificates."""
    return any(cause.of_settings and error.name in cause.names for cause in _CAUSES)


def _words(errors: Iterable[ClientError]) -> str:
    """Return the two most frequent error texts of the client, the most frequent first."""
    texts = Counter(map(_without_noise, errors))
    text = "; ".join(t for t, _ in texts.most_common(2))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _without_noise(error: ClientError) -> str:
    text = error.text
    for noise in _NOISE:
        text = noise.sub("", text)
    return text.strip()
