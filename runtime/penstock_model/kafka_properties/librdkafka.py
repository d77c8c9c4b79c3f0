"""Supported properties of librdkafka 2.16 and their values, from its CONFIGURATION.md.

Callbacks, deprecated properties and properties without an implementation are omitted. `ALIASES` has the aliases.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from penstock_model.kafka_properties.client_kinds import ClientKind

__all__ = ["ALIASES", "names", "value_error"]

ALIASES: Final[Mapping[str, str]] = {
    "compression.codec": "compression.type",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}

# name=low..high: a number; name=a|b: one of these; name?: true or false; name: a string
_EVERY_CLIENT: Final = """
message.max.bytes=1000..1000000000 message.copy.max.bytes=0..1000000000 receive.message.max.bytes=1000..2147483647
max.in.flight.requests.per.connection=1..1000000 metadata.recovery.rebootstrap.trigger.ms=0..2147483647
topic.metadata.refresh.interval.ms=-1..3600000 metadata.max.age.ms=1..86400000
topic.metadata.refresh.fast.interval.ms=1..60000 topic.metadata.refresh.fast.cnt=0..1000
topic.metadata.propagation.max.ms=0..3600000 socket.timeout.ms=10..300000 socket.blocking.max.ms=1..60000
socket.send.buffer.bytes=0..100000000 socket.receive.buffer.bytes=0..100000000 socket.max.fails=0..1000000
broker.address.ttl=0..86400000 socket.connection.setup.timeout.ms=1000..2147483647
connections.max.idle.ms=0..2147483647 reconnect.backoff.jitter.ms=0..3600000 reconnect.backoff.ms=0..3600000
reconnect.backoff.max.ms=0..3600000 statistics.interval.ms=0..86400000 api.version.request.timeout.ms=1..300000
api.version.fallback.ms=0..604800000 sasl.kerberos.min.time.before.relogin=0..86400000
sasl.oauthbearer.assertion.claim.exp.seconds=1..2147483647 sasl.oauthbearer.assertion.claim.nbf.seconds=0..2147483647
retry.backoff.ms=1..300000 retry.backoff.max.ms=1..300000
topic.metadata.refresh.sparse? socket.keepalive.enable? socket.nagle.disable? log.thread.name? log.connection.close?
api.version.request? allow.auto.create.topics? enable.ssl.certificate.verification?
enable.sasl.oauthbearer.unsecure.jwt? sasl.oauthbearer.assertion.claim.jti.include? enable.metrics.push?
metadata.recovery.strategy=none|rebootstrap broker.address.family=any|v4|v6
security.protocol=plaintext|ssl|sasl_plaintext|sasl_ssl ssl.endpoint.identification.algorithm=none|https
sasl.oauthbearer.method=default|oidc
sasl.oauthbearer.grant.type=client_credentials|urn:ietf:params:oauth:grant-type:jwt-bearer
sasl.oauthbearer.assertion.algorithm=RS256|ES256 sasl.oauthbearer.metadata.authentication.type=none|azure_imds|aws_iam
client.dns.lookup=use_all_dns_ips|resolve_canonical_bootstrap_servers_only
client.id client.rack bootstrap.servers debug broker.version.fallback ssl.cipher.suites ssl.curves.list ssl.sigalgs.list
ssl.key.location ssl.key.password ssl.key.pem ssl.certificate.location ssl.certificate.pem ssl.ca.location
https.ca.location https.ca.pem ssl.ca.pem ssl.ca.certificate.stores ssl.crl.location ssl.keystore.location
ssl.keystore.password sasl.mechanism sasl.kerberos.service.name sasl.kerberos.principal sasl.kerberos.kinit.cmd
sasl.kerberos.keytab sasl.username sasl.password sasl.oauthbearer.config sasl.oauthbearer.client.id
sasl.oauthbearer.client.secret sasl.oauthbearer.scope sasl.oauthbearer.extensions
sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.sub.claim.name sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.jwt.template.file
"""
_PRODUCER: Final = """
transaction.timeout.ms=1000..2147483647 queue.buffering.max.messages=0..2147483647
queue.buffering.max.kbytes=1..2147483647 linger.ms=0..900000 retries=0..2147483647
queue.buffering.backpressure.threshold=1..1000000 batch.num.messages=1..1000000 batch.size=1..2147483647
sticky.partitioning.linger.ms=0..900000 acks=all|-1|0|1 request.timeout.ms=1..900000
delivery.timeout.ms=0..2147483647 compression.level=-1..12 enable.idempotence?
compression.type=none|gzip|snappy|lz4|zstd
"""
_CONSUMER: Final = """
coordinator.query.interval.ms=1..3600000 queued.min.messages=1..10000000 queued.max.messages.kbytes=1..2097151
fetch.wait.max.ms=0..300000 fetch.queue.backoff.ms=0..300000 fetch.message.max.bytes=1..1000000000
fetch.max.bytes=0..2147483135 fetch.min.bytes=0..2147483647 fetch.error.backoff.ms=0..300000
check.crcs? isolation.level=read_uncommitted|read_committed
auto.offset.reset=earliest|latest|error|smallest|beginning|largest|end group.id
"""


class _Property(NamedTuple):
    low: int | None = None
    high: int = 0
    words: tuple[str, ...] = ()


def names(kind: ClientKind) -> frozenset[str]:
    """Return the properties of this kind of client."""
    return frozenset(_properties(kind))


def value_error(kind: ClientKind, name: str, text: str) -> str | None:
    """Return why a value is invalid for a property in `names(kind)`, in Connect's words if it has any; None if valid."""
    known = _properties(kind)[name]
    if text.lower() in known.words:
        return None
    if known.low is None:
        return f"String must be one of: {', '.join(known.words)}" if known.words else None
    try:
        number = int(text)
    except ValueError:
        return "Not a number of type INT"
    return None if known.low <= number <= known.high else f"Value must be from {known.low} to {known.high}"


@cache
def _properties(kind: ClientKind) -> Mapping[str, _Property]:
    own = {"producer": _PRODUCER, "consumer": _CONSUMER, "admin": ""}[kind]
    return dict(_read(_EVERY_CLIENT + own))


def _read(table: str) -> Iterator[tuple[str, _Property]]:
    for entry in table.split():
        name, _, values = entry.partition("=")
        if name.endswith("?"):
            yield name[:-1], _Property(words=("true", "false"))
            continue
        limits, _, more = values.partition("|")
        if ".." in limits:
            low, _, high = limits.partition("..")
            yield name, _Property(int(low), int(high), tuple(more.split("|")) if more else ())
        else:
            yield name, _Property(words=tuple(values.lower().split("|")) if values else ())
