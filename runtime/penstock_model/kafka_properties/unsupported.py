"""Properties of Java's clients and of librdkafka that have no meaning in Penstock, each with the reason."""

from collections.abc import Mapping
from typing import Final

from penstock_model.kafka_properties.client_kinds import ClientKind

__all__ = ["is_as_in_penstock", "why_unsupported"]

_GROUP: Final = "sinks do not join their consumer group; partitions are assigned to tasks by rule"
_COMMITS: Final = "offsets are committed by the task, after the sink's commit"
_BYTES: Final = "clients transfer bytes; set key.converter and value.converter instead"
_METRICS: Final = "metrics are Prometheus metrics of the task"
_JAVA: Final = "it names Java classes or settings of the JVM"
_PARTITIONER: Final = "keys are always partitioned as in Java (murmur2)"
_NATIVE: Final = "it would load third-party code into the client"

_EVERYWHERE: Final[Mapping[str, str]] = {
    "auto.include.jmx.reporter": _METRICS,
    "bootstrap.controllers": "clients talk to brokers; set bootstrap.servers",
    "config.providers": "variables are resolved in the whole configuration, not per client",
    "connections.max.reauth.ms": "it is a property of brokers",
    "default.api.timeout.ms": "set request.timeout.ms",
    "interceptor.classes": _JAVA,
    "interceptors": _NATIVE,
    "metadata.max.idle.ms": "librdkafka expires metadata of unused topics by its own rule",
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "plugin.library.paths": _NATIVE,
    "socket.connection.setup.timeout.max.ms": "set socket.connection.setup.timeout.ms",
}
_PRODUCER: Final[Mapping[str, str]] = {
    "key.serializer": _BYTES,
    "partitioner": _PARTITIONER,
    "partitioner.adaptive.partitioning.enable": _PARTITIONER,
    "partitioner.availability.timeout.ms": _PARTITIONER,
    "partitioner.class": _PARTITIONER,
    "partitioner.ignore.keys": _PARTITIONER,
    "queue.buffering.max.kbytes": "set buffer.memory: the task limits the waiting records, so that they keep their order",
    "queue.buffering.max.messages": "set buffer.memory: the task limits the waiting records, so that they keep their order",
    "transaction.two.phase.commit.enable": "transactions are committed by the task",
    "transactional.id": "it is <group.id>-<connector>-<task>, so that a newer task fences an older one",
    "value.serializer": _BYTES,
}
_CONSUMER: Final[Mapping[str, str]] = {
    "auto.commit.interval.ms": _COMMITS,
    "enable.auto.commit": _COMMITS,
    "enable.auto.offset.store": _COMMITS,
    "enable.partition.eof": "the task uses it to find the end of partitions",
    "exclude.internal.topics": "internal topics are read if topics or topics.regex selects them",
    "group.instance.id": _GROUP,
    "group.protocol": _GROUP,
    "group.remote.assignor": _GROUP,
    "heartbeat.interval.ms": _GROUP,
    "key.deserializer": _BYTES,
    "offset.store.method": _COMMITS,
    "partition.assignment.strategy": _GROUP,
    "session.timeout.ms": _GROUP,
    "share.acknowledgement.mode": _GROUP,
    "value.deserializer": _BYTES,
}
_ADMIN: Final[Mapping[str, str]] = {
    "retries": "requests are retried until request.timeout.ms has passed; set that property"
}
_OF_KIND: Final[Mapping[ClientKind, Mapping[str, str]]] = {
    "producer": _PRODUCER,
    "consumer": _CONSUMER,
    "admin": _ADMIN,
}
# Penstock always behaves like this, so a configuration that requests it needs no message.
_AS_IN_PENSTOCK: Final = frozenset((("enable.auto.commit", "false"), ("partitioner", "murmur2_random")))


def is_as_in_penstock(name: str, text: str) -> bool:
    """Return whether Penstock always behaves as this property requests."""
    return (name, text.lower()) in _AS_IN_PENSTOCK


def why_unsupported(kind: ClientKind, name: str, text: str) -> str | None:
    """Return the reason why a client property has no meaning in Penstock, or None."""
    if is_as_in_penstock(name, text):
        return None
    if name == "auto.offset.reset" and text.lower().startswith("by_duration"):
        return "librdkafka supports earliest, latest and none"
    return _OF_KIND[kind].get(name) or _EVERYWHERE.get(name)
