"""Whether Kafka can be reached, and if not, why not: one sentence that names the servers, the cause, and what to do.

librdkafka tries again in silence, and a call that waits for an answer says only that none came. The cause it tells in the
background, through the error callback, and only to whoever polls: so this is asked before the work, not after it.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import translated
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.task.liveness import LOOP

__all__ = ["Heard", "connecting", "distinct", "reach", "sentence"]

_SLICE: Final = 0.5  # seconds
_CLEAR: Final = 3.0
"""Seconds after which a cause that waiting does not mend is told: a broker that is just starting may refuse, too."""
_LONGEST: Final = 400  # characters of the client's own words
_CONNECTING: Final = ("bootstrap.servers", "security.", "sasl.", "ssl.", "socket.", "client.dns.lookup",
                      "broker.address.family", "enable.ssl.")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heard:
    """An error that a client told in the background: librdkafka's name of it, and its words."""

    name: str
    text: str


_SHOULD: Final[tuple[tuple[frozenset[str], str, str], ...]] = (
    (
        frozenset(("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM",
                   "ILLEGAL_SASL_STATE")),
        "refuses who we are",
        "Check user name, password and sasl.mechanism, and the Secret that they come from.",
    ),
    (
        frozenset(("_SSL", "_SSL_CERT_VERIFY")),
        "cannot be spoken to over TLS",
        "Check the trusted certificates (ssl.truststore.location, ssl.ca.location), the host name in the brokers' "
        "certificate, and that this listener speaks TLS.",
    ),
    (
        frozenset(("_RESOLVE",)),
        "cannot be found: a host name does not resolve",
        "Check the host names in bootstrap.servers, and the cluster's DNS.",
    ),
)  # fmt: skip
_HANDSHAKE: Final = "SSL handshake failed"
"""Also where the other side only hangs up, which has the name of any lost connection."""
_REFUSED: Final = (
    "Check the ports in bootstrap.servers, that the brokers run, and that no network policy stands between."
)
_OTHERWISE: Final = (
    "Check bootstrap.servers, that its listener speaks what security.protocol says, and that no network policy stands "
    "between."
)


def sentence(servers: str, heard: Iterable[Heard], seconds: float) -> str:
    """Why Kafka cannot be reached. Pure.

    Args:
        servers: `bootstrap.servers`.
        heard: what the client told meanwhile, in any order.
        seconds: how long it was tried.
    """
    told = [h for h in heard if h.name != "_ALL_BROKERS_DOWN"]
    for names, cause, advice in _SHOULD:
        if found := [h for h in told if h.name in names or ("_SSL" in names and _HANDSHAKE in h.text)]:
            return f"Kafka at {servers} {cause} ({_words([*found, *told])}). {advice}"
    if refused := [h for h in told if "refused" in h.text.lower()]:
        return f"Kafka at {servers} cannot be reached: nobody listens there ({_words(refused)}). {_REFUSED}"
    detail = f" ({_words(told)})" if told else ""
    return f"Kafka at {servers} has not answered for {seconds:.0f} s{detail}. {_OTHERWISE}"


def distinct(*each: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of these clients' properties, what tells how to connect; the same way once only. Pure."""
    ways: list[dict[str, Any]] = []
    for way in map(connecting, each):
        if way not in ways:
            ways.append(way)
    return ways


def connecting(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Of a client's properties, those that tell how to connect, which every kind of client takes. Pure."""
    return {n: v for n, v in properties.items() if n.startswith(_CONNECTING)}


def reach(
    *all_settings: ClientSettings, seconds: float, stopping: Callable[[], bool] = lambda: False, patient: bool = False
) -> None:
    """Return once the brokers have answered clients of every kind that these settings make, or `stopping` holds.

    Args:
        all_settings: each is tried in every way of connecting that it has.
        seconds: for all of them.
        stopping: no need any more.
        patient: wait the whole time also for what waiting hardly mends (a wrong password).

    Raises:
        RetriableError: not in that time; the message is `sentence`'s.
        ConnectError: a client cannot be made (a file of certificates is not there).
    """
    deadline = time.monotonic() + seconds
    for way in distinct(*(p for s in all_settings for p in (s.producer, s.consumer, s.admin))):
        _reach(way, deadline, seconds, stopping, patient=patient)


def _reach(
    way: dict[str, Any], deadline: float, seconds: float, stopping: Callable[[], bool], *, patient: bool
) -> None:
    heard: list[Heard] = []

    def error(e: KafkaError) -> None:
        heard.append(Heard(e.name(), e.str()))
        del heard[:-200]

    servers = str(way.get("bootstrap.servers", ""))
    begun = time.monotonic()
    try:
        client = Producer({**way, "error_cb": error, "log_level": 0, "reconnect.backoff.ms": 100})
    except KafkaException as e:
        raise translated(e.args[0], f"Starting a client for Kafka at {servers}") from e
    try:
        while not stopping():
            LOOP.turned()
            try:
                client.list_topics("__consumer_offsets", timeout=_SLICE)
            except KafkaException as e:
                with suppress(KafkaException):
                    client.poll(0)
                _judge(e.args[0], servers, heard)
            else:
                return
            waited = time.monotonic() - begun
            hopeless = not patient and waited >= _CLEAR and any(h.name in n for h in heard for n, _, _ in _SHOULD[:2])
            if hopeless or time.monotonic() >= deadline:
                raise RetriableError(sentence(servers, heard, waited))
    finally:
        with suppress(KafkaException):
            client.close()


def _judge(error: KafkaError, servers: str, heard: list[Heard]) -> None:
    """Take in what a request was answered; raise what no waiting mends."""
    ours = translated(error, f"Asking Kafka at {servers}")
    if not isinstance(ours, RetriableError) and error.name() not in {n for names, _, _ in _SHOULD for n in names}:
        raise ConnectError(str(ours))
    if error.name() not in ("_TRANSPORT", "_TIMED_OUT"):  # these say nothing that the callback does not
        heard.append(Heard(error.name(), error.str()))


def _words(heard: Iterable[Heard]) -> str:
    """The client's words, the commonest first, without what changes from one try to the next."""
    texts = Counter(re.sub(r" \(after [^)]*\)|, \d+ identical error\(s\) suppressed", "", h.text) for h in heard)
    text = "; ".join(t for t, _ in texts.most_common(2))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
