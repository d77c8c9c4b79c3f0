"""Kinds of Kafka clients, and the client properties at the top level of a worker configuration."""

from typing import Final, Literal

__all__ = ["CLIENT_KINDS", "SHARED_CLIENT_NAMES", "SHARED_CLIENT_PREFIXES", "ClientKind"]

ClientKind = Literal["producer", "consumer", "admin"]
CLIENT_KINDS: Final[tuple[ClientKind, ...]] = ("producer", "consumer", "admin")

SHARED_CLIENT_PREFIXES: Final = ("security.", "sasl.", "ssl.", "reconnect.", "socket.")
SHARED_CLIENT_NAMES: Final = frozenset(
    (
        "bootstrap.servers",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "retry.backoff.ms",
        "retry.backoff.max.ms",
        "metadata.max.age.ms",
        "metadata.recovery.strategy",
        "metadata.recovery.rebootstrap.trigger.ms",
        "send.buffer.bytes",
        "receive.buffer.bytes",
    )
)
"""Properties that all kinds of clients accept, in addition to those that start with `SHARED_CLIENT_PREFIXES`."""
