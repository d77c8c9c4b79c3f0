"""Check the client overrides of a connector (allowed by the worker, known, applicable) and its consumer group."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock import Problem
from penstock_model.connect.consumer_group import default_consumer_group
from penstock_model.connect.topic_creation_rules import PREFIX
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.kafka_properties.client_kinds import CLIENT_KINDS, ClientKind
from penstock_model.kafka_properties.translation import refused, translate_layers
from penstock_model.validation.findings import Findings

__all__ = ["OVERRIDES", "check_clients", "unused_overrides", "used"]

OVERRIDES: Mapping[ClientKind, str] = {kind: f"{kind}.override." for kind in CLIENT_KINDS}

_CREDENTIALS: Final = ("sasl.", "ssl.", "security.protocol")
"""Prefixes of properties that configure the identity of a client."""


def check_clients(
    kind: str,
    config: Mapping[str, str],
    worker: WorkerConfig,
    connector: str,
    *,
    exactly_once: bool,
    findings: Findings,
    has_policy: bool = False,
) -> None:
    """Check the overrides of the clients that this connector uses, and a sink's consumer group.

    Args:
        kind: `source` or `sink`.
        config: the connector's properties, resolved.
        worker: worker configuration, resolved.
        connector: Connect name of the connector.
        exactly_once: whether the source's producers are transactional.
        findings: receives problems and warnings.
        has_policy: whether a TopicCreationPolicy applies to the connector, so that the task creates its topics.
    """
    for client in used(kind, config, has_policy=has_policy):
        prefix = OVERRIDES[client]
        overrides = _below(prefix, config)
        findings.problems += refused(worker.override_policy, worker.override_allowlist, overrides, prefix)
        found = translate_layers(
            client, [*worker.clients(client), (prefix, overrides)], exactly_once=exactly_once and client == "producer"
        )
        for problem in found.problems:
            own = problem.property.startswith(prefix)
            findings.refuse(problem.property if own else f"worker configuration, {problem.property}", problem.message)
        findings.problems += (p for p in found.meaningless if p.property.startswith(prefix))
        findings.warnings += (p for p in found.unknown if p.property.startswith(prefix))
        for overruled in found.overruled:
            own = overruled.property.startswith(prefix)
            name = overruled.property if own else f"worker configuration, {overruled.property}"
            findings.warn(name, overruled.message)
    if kind == "sink":
        findings.problems += _group(config, worker, connector)
    if kind == "source" and worker.topic_creation_enable and _has_rules(config, has_policy=has_policy):
        findings.warnings += _for_records_alone(config)
    for name in unused_overrides(kind, config, has_policy=has_policy):
        findings.warn(name, f"has no effect: this {kind} has no such client{_allowed(kind, name, worker)}")


def unused_overrides(kind: str, config: Mapping[str, str], *, has_policy: bool = False) -> list[str]:
    """Return overrides of clients that the connector does not use. No policy checks them, and no task receives them."""
    clients = used(kind, config, has_policy=has_policy)
    unused = [OVERRIDES[client] for client in CLIENT_KINDS if client not in clients]
    return [name for name in config if name.startswith(tuple(unused))]


def used(kind: str, config: Mapping[str, str], *, has_policy: bool = False) -> tuple[ClientKind, ...]:
    """Return the clients that use a connector's overrides (Connect's rule). A policy counts like `topic.creation.*`."""
    dead_letters = bool(config.get("errors.deadletterqueue.topic.name", "").strip())
    if kind == "sink":
        return ("consumer", "producer", "admin") if dead_letters else ("consumer",)
    elsewhere = "offsets.storage.topic" in config or "producer.override.bootstrap.servers" in config
    if dead_letters or elsewhere:
        return ("producer", "consumer", "admin")
    return ("producer", "admin") if _has_rules(config, has_policy=has_policy) else ("producer",)


def _has_rules(config: Mapping[str, str], *, has_policy: bool) -> bool:
    return has_policy or any(name.startswith(PREFIX) for name in config)


def _for_records_alone(config: Mapping[str, str]) -> Iterator[Problem]:
    """Warn about producer credentials that the client for creating topics does not use (KIP-158, example 5)."""
    producer, admin = (_below(OVERRIDES[client], config) for client in ("producer", "admin"))
    for name, text in producer.items():
        if name.startswith(_CREDENTIALS) and admin.get(name) != text:
            yield Problem(
                f"{OVERRIDES['producer']}{name}",
                f"applies to records only: topics are created with the worker's {name}; to create them with the "
                f"connector's, set {OVERRIDES['admin']}{name} too",
            )


def _allowed(kind: str, name: str, worker: WorkerConfig) -> str:
    """Describe when the connector would have the client of an override, or that the worker's policy would then reject it."""
    prefix = next(p for p in OVERRIDES.values() if name.startswith(p))
    own = name.removeprefix(prefix)
    if refused(worker.override_policy, worker.override_allowlist, {own: ""}, prefix):
        return f", and the worker's policy {worker.override_policy.capitalize()} would not allow it"
    return _when(kind, name)


def _when(kind: str, name: str) -> str:
    if kind == "sink":
        return "; it would have one with errors.deadletterqueue.topic.name"
    if name.startswith("admin."):
        return "; it would have one with topic.creation.* or offsets.storage.topic"
    return "; it would have one with offsets.storage.topic" if not name.startswith("producer.") else ""


def _group(config: Mapping[str, str], worker: WorkerConfig, connector: str) -> Iterator[Problem]:
    shared = _below("consumer.", worker.raw).get("group.id", "").strip()
    own = config.get("consumer.override.group.id", "").strip()
    group = own or shared or default_consumer_group(connector)
    if group != worker.group_id:
        return
    if own:
        message = f"Consumer group {group} conflicts with Connect worker group {worker.group_id}"
        yield Problem("consumer.override.group.id", message)
    else:
        yield Problem(
            "name",
            f"Consumer group for sink connector named {connector} conflicts with Connect worker group "
            f"{worker.group_id}; change metadata.name, or group.id in the worker configuration",
        )


def _below(prefix: str, properties: Mapping[str, str]) -> dict[str, str]:
    return {n[len(prefix) :]: t for n, t in properties.items() if n.startswith(prefix) and len(n) > len(prefix)}
