"""Translation of Java's client properties, as users of Kafka Connect write them, to librdkafka's. Pure.

Names that both support are passed on, and names with a counterpart are translated. Names without a meaning in Penstock are
reported with the reason. Unknown names cause warnings, as in Kafka's own clients.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from penstock import Problem
from penstock.config import nearest
from penstock_model.kafka_properties import librdkafka
from penstock_model.kafka_properties import security as client_security
from penstock_model.kafka_properties.client_kinds import ClientKind
from penstock_model.kafka_properties.unsupported import is_as_in_penstock, why_unsupported

__all__ = ["Translated", "refused", "translate", "translate_layers"]

_RENAMED: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    **librdkafka.ALIASES,
}
# Java's -1 means the system's default, or never, which is 0 in librdkafka.
_MINUS_ONE_IS_0: Final = frozenset(
    ("socket.receive.buffer.bytes", "socket.send.buffer.bytes", "connections.max.idle.ms")
)
_OWN: Final[Mapping[ClientKind, Mapping[str, tuple[int, int]]]] = {
    "producer": {"buffer.memory": (1 << 20, 2**40), "max.block.ms": (0, 2**63 - 1)},
    "consumer": {"max.poll.interval.ms": (1, 2**31 - 1), "max.poll.records": (1, 2**31 - 1)},
    "admin": {},
}
_COMPRESSION_LEVELS: Final = ("compression.gzip.level", "compression.lz4.level", "compression.zstd.level")
_TRANSACTION_TIMEOUT_MS: Final = 60_000
_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_MAX_IN_FLIGHT: Final = 5
_NEEDS: Final[Mapping[str, str]] = {"acks": "acks=all", "retries": "retries", _IN_FLIGHT: f"at most {_MAX_IN_FLIGHT}"}

_PRINCIPAL: Final = ("sasl.jaas.config", "sasl.mechanism", "security.protocol")
_POLICIES: Final = {"all": "All", "none": "None", "principal": "Principal", "allowlist": "Allowlist"}


class Translated(NamedTuple):
    """Result of a translation.

    Attributes:
        properties: properties of librdkafka.
        own: properties that Penstock implements instead of librdkafka: `buffer.memory` (bytes that may wait in a
            producer), `max.block.ms` (how long to wait for a partition that a topic does not have yet), `max.poll.records`
            (records per write of a sink), `max.poll.interval.ms` (how long a write may take in a Spark worker),
            `metadata.max.age.ms` (how often to look for new topics and partitions).
        problems: invalid values.
        meaningless: names without a meaning in Penstock; an error in a connector, a warning in a worker configuration.
        unknown: unknown names, which are omitted; for warnings.
        overruled: values that contradict exactly-once delivery, and are omitted; for warnings.
    """

    properties: dict[str, str]
    own: dict[str, int]
    problems: list[Problem]
    meaningless: list[Problem]
    unknown: list[Problem]
    overruled: list[Problem]


def translate(kind: ClientKind, props: Mapping[str, str], prefix: str, *, exactly_once: bool = False) -> Translated:
    """Translate one set of properties; `prefix` precedes their names in the user's configuration."""
    return translate_layers(kind, [(prefix, props)], exactly_once=exactly_once)


def translate_layers(
    kind: ClientKind, layers: Sequence[tuple[str, Mapping[str, str]]], *, exactly_once: bool = False
) -> Translated:
    """Translate sets of properties; later sets override earlier ones.

    Args:
        kind: kind of client.
        layers: sets, each with the prefix of its names: `WorkerConfig.clients(kind)`, then the overrides of the connector.
        exactly_once: whether the producer is transactional, which overrules some values, as in Kafka Connect.
    """
    written: dict[str, tuple[str, str]] = {}
    for prefix, props in layers:
        for name, text in props.items():
            written.pop(name, None)  # use the order of the last layer that has the name
            written[name] = (text.strip(), prefix + name)
    result = Translated({}, {}, [], [], [], [])
    security = {n: v for n, v in written.items() if n.startswith(("ssl.", "sasl.", "security."))}
    client_security.translate(security, result.properties, result.problems, result.meaningless)
    for name, (text, where) in written.items():
        if name not in security:
            _translate_one(kind, name, text, where, result)
    origins = {_RENAMED.get(n, n): where for n, (_, where) in written.items()}
    for name, text in result.properties.items():
        wrong = librdkafka.value_error(kind, name, text) if name in librdkafka.names(kind) else None
        if wrong:
            where = origins.get(name, name)
            result.problems.append(Problem(where, f"Invalid value {text} for configuration {name}: {wrong}"))
    if kind == "producer" and exactly_once:
        _transactional(result, origins)
    elif kind == "producer":
        _idempotent(result, origins)
    return result


def refused(policy: str, allowlist: Sequence[str], overrides: Mapping[str, str], prefix: str) -> list[Problem]:
    """Return a problem for each override that the worker's policy does not allow (KIP-458, KIP-1188), as in Connect.

    Args:
        policy: `All`, `None`, `Principal` or `Allowlist`, in any case.
        allowlist: names that `Allowlist` allows.
        overrides: names without `prefix`.
        prefix: `producer.override.` and so on.
    """
    allowed = {"none": (), "principal": _PRINCIPAL, "allowlist": tuple(allowlist)}
    if policy.lower() == "all":
        return []
    return [
        Problem(
            prefix + name,
            f"The '{_POLICIES[policy.lower()]}' policy does not allow '{name}' to be overridden in the connector "
            f"configuration.",
        )
        for name in overrides
        if name not in allowed[policy.lower()]
    ]


def _translate_one(kind: ClientKind, name: str, text: str, where: str, result: Translated) -> None:
    if name in _OWN[kind]:
        _own(kind, name, text, where, result)
    elif name == "metadata.max.age.ms" and text.isdigit() and int(text) < 2**63:
        # In Java the interval between requests; in librdkafka the age at which metadata expires.
        result.own[name] = int(text)
        result.properties["topic.metadata.refresh.interval.ms"] = str(min(int(text), 3_600_000))
        result.properties[name] = str(min(max(int(text) * 3, 1), 86_400_000))
    elif name == "request.timeout.ms" and kind != "producer":
        result.properties["socket.timeout.ms"] = text
    elif name == "auto.offset.reset" and text.lower() == "none":
        result.properties[name] = "error"
    elif name in _COMPRESSION_LEVELS and kind == "producer":
        result.properties["compression.level"] = text
    elif why := why_unsupported(kind, name, text):
        result.meaningless.append(Problem(where, f"has no meaning in Penstock: {why}"))
    elif (target := _RENAMED.get(name, name)) in librdkafka.names(kind):
        text = "0" if target in _MINUS_ONE_IS_0 and text == "-1" else text
        result.properties[target] = text
    elif not is_as_in_penstock(name, text):
        result.unknown.append(Problem(where, _unknown(kind, name)))


def _own(kind: ClientKind, name: str, text: str, where: str, result: Translated) -> None:
    low, high = _OWN[kind][name]
    try:
        number = int(text)
    except ValueError:
        why = "Not a number of type LONG"
    else:
        why = "" if low <= number <= high else f"Value must be from {low} to {high}"
        result.own[name] = number
    if why:
        result.problems.append(Problem(where, f"Invalid value {text} for configuration {name}: {why}"))


def _unknown(kind: ClientKind, name: str) -> str:
    others: tuple[ClientKind, ...] = ("producer", "consumer", "admin")
    fitting = [k for k in others if _RENAMED.get(name, name) in librdkafka.names(k) or name in _OWN[k]]
    if fitting:
        return f"has no effect: {kind} clients have no such property; it belongs to {' and '.join(fitting)} clients"
    near = nearest(name, librdkafka.names(kind) | _RENAMED.keys() | _OWN[kind].keys())
    return f"has no effect: it is not a known {kind} property" + (f"; did you mean {near}?" if near else "")


def _idempotent(result: Translated, origins: Mapping[str, str]) -> None:
    """Reject values that contradict `enable.idempotence=true`. Unless the user has set it, they disable idempotence."""
    properties = result.properties
    if properties.get("enable.idempotence", "").lower() != "true":
        return
    wrong = {
        "acks": properties.get("acks", "all").lower() in ("0", "1"),
        "retries": properties.get("retries") == "0",
        _IN_FLIGHT: (n := properties.get(_IN_FLIGHT, "1")).isdigit() and int(n) > _MAX_IN_FLIGHT,
    }
    result.problems.extend(
        Problem(
            origins.get(name, name),
            f"{name}={properties[name]} contradicts {origins['enable.idempotence']}=true, which requires "
            f"{_NEEDS[name]}; remove one of them",
        )
        for name, contradicts in wrong.items()
        if contradicts
    )


def _transactional(result: Translated, origins: Mapping[str, str]) -> None:
    properties = result.properties

    def overrule(name: str, why: str) -> None:
        del properties[name]
        result.overruled.append(
            Problem(
                origins.get(name, name),
                f"has no effect: exactly-once delivery requires {why}; set "
                f"delivery.guarantee=at-least-once to keep this value",
            )
        )

    if properties.get("acks", "all").lower() in ("0", "1"):
        overrule("acks", _NEEDS["acks"])
    if properties.get("enable.idempotence", "true").lower() == "false":
        overrule("enable.idempotence", "enable.idempotence=true")
    if properties.get("retries") == "0":
        overrule("retries", _NEEDS["retries"])
    in_flight = properties.get(_IN_FLIGHT, "1")
    if in_flight.isdigit() and int(in_flight) > _MAX_IN_FLIGHT:
        overrule(_IN_FLIGHT, _NEEDS[_IN_FLIGHT])
    # librdkafka rejects a longer delivery timeout. In Java, the end of the transaction also ends the delivery.
    delivery, transaction = properties.get("delivery.timeout.ms", ""), properties.get("transaction.timeout.ms", "")
    if delivery.isdigit():
        limit = int(transaction) if transaction.isdigit() else _TRANSACTION_TIMEOUT_MS
        properties["delivery.timeout.ms"] = str(min(int(delivery) or limit, limit))
