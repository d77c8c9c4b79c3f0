"""Warnings for properties of a worker configuration that have no effect in Penstock, or are unknown. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.config import nearest
from penstock.errors import Problem
from penstock_model.kafka_properties.client_kinds import SHARED_CLIENT_NAMES

__all__ = ["warnings"]

_REST: Final = "there is no REST interface; the resources are the interface"
_GROUP: Final = "there is no group of workers; every task is a separate process"
_CONFIG_TOPIC: Final = "configurations are resources, not records of a topic"
_METRICS: Final = "metrics are Prometheus metrics of every task"

WITHOUT_MEANING: Final[Mapping[str, str]] = {
    "access.control.": _REST,
    "admin.listeners": _REST,
    "auto.include.jmx.reporter": _METRICS,
    "config.storage.": _CONFIG_TOPIC,
    "connect.protocol": _GROUP,
    "group.instance.id": _GROUP,
    "heartbeat.interval.ms": _GROUP,
    "inter.worker.": _GROUP,
    "internal.key.converter": "internal topics always hold Connect's JSON",
    "internal.value.converter": "internal topics always hold Connect's JSON",
    "key.converter.schemas.cache.config": "converters manage their caches",
    "listeners": _REST,
    "metric.reporters": _METRICS,
    "metrics.": _METRICS,
    "offset.storage.file.filename": "offsets are stored in Kafka, also by `penstock run`",
    "plugin.discovery": "Java plugins are found by their service manifests, or else by scanning",
    "plugin.path": "for Java plugins, pass --plugin-path on the command line",
    "rebalance.timeout.ms": _GROUP,
    "response.http.headers.config": _REST,
    "rest.": _REST,
    "scheduled.rebalance.max.delay.ms": _GROUP,
    "session.timeout.ms": _GROUP,
    "task.shutdown.": "see task.shutdown.graceful.timeout.ms",
    "worker.sync.timeout.ms": _GROUP,
    "worker.unsync.backoff.ms": _GROUP,
    "request.timeout.ms": "set it under producer., consumer. or admin.",
    "client.id": "clients are named after their connector and task",
    "topic.creation.": "connectors set topic.creation.*, a worker only topic.creation.enable",
}
WORKER_PREFIXES: Final = (
    "producer.",
    "consumer.",
    "admin.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "config.providers.",
    "offset.storage.",
    "status.storage.",
    "security.",
    "sasl.",
    "ssl.",
    "reconnect.",
    "socket.",
)


def warnings(texts: Mapping[str, str], known: frozenset[str]) -> Iterator[Problem]:
    """Yield one warning for each property that has no meaning in Penstock or is unknown.

    Args:
        texts: properties of the worker.
        known: names that `WorkerConfig` declares.
    """
    for name in texts:
        if name in known or name in SHARED_CLIENT_NAMES:
            continue
        why = _why(name)
        if why is not None:
            yield Problem(name, f"has no meaning in Penstock and is ignored: {why}")
        elif not name.startswith(WORKER_PREFIXES):
            near = nearest(name, known | SHARED_CLIENT_NAMES)
            yield Problem(name, "is unknown and is ignored" + (f"; did you mean {near}?" if near else ""))


def _why(name: str) -> str | None:
    matching = (why for n, why in WITHOUT_MEANING.items() if name == n or (n.endswith(".") and name.startswith(n)))
    return next(matching, None)
