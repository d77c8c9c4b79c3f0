"""Locate a connector's offsets: topics, group and clusters, and the plugin that must agree to changes.

If the configuration is invalid or the plugin is missing, the target is derived from names only, without a plugin.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock.offsets import Offset, SourcePartition
from penstock_model.connect.consumer_group import default_consumer_group
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.job import JobRequest
from penstock_model.kafka_properties.translation import refused
from penstock_model.resources.connector import UNNAMED, Connector
from penstock_model.validation.client_overrides import OVERRIDES, unused_overrides
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.job.prepare import make_internal_topics, place_of
from penstock_runtime.job.validating import planned
from penstock_runtime.job.with_kafka import ClientErrors
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.context import client_settings
from penstock_runtime.plan.delivery_guarantee import exactly_once
from penstock_runtime.plugins.config_providers import ConfigProviders
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.source.context import SourceContext
from penstock_runtime.task.context import task_context

__all__ = ["Target", "target_by_name", "target_of_valid"]

_OWN_TOPIC: Final = "offsets.storage.topic"
_GROUP: Final = "consumer.override.group.id"
_BOTH: Final = frozenset(("source", "sink"))
_NAMING: Final = (_OWN_TOPIC, *OVERRIDES.values())
"""Prefixes of the properties that determine topics, group and cluster."""


@dataclass(frozen=True)
class Target:
    """Offsets of a connector.

    Attributes:
        kinds: `source`, `sink`, or both if the kind is unknown.
        place: location of the incarnation records.
        transactional: whether earlier incarnations may have transactional ids that are not recorded yet.
        topics: offsets topics and their clients, in the order of writing (`offsets_change`).
        group: consumer group of a sink.
        ask: calls the plugin's `alter_offsets`.
        make_topics: creates the topics for the status and the offsets if they are missing.
    """

    kinds: frozenset[str]
    place: Place
    transactional: bool
    topics: tuple[tuple[ClientSettings, str], ...]
    group: str
    ask: Callable[[Mapping[SourcePartition, Offset | None]], bool] | None = None
    make_topics: Callable[[], None] = lambda: None


def target_of_valid(request: JobRequest, client_errors: ClientErrors) -> Target:
    """Return the target of a connector whose configuration is valid.

    The plugin is not called to split its work, which may need the external system: as in Kafka Connect, `alter_offsets`
    receives the connector's configuration, not that of a task.

    Raises:
        ConfigError: the configuration is not valid.
    """
    plan, _ = planned(request, splits=False)
    context = task_context(plan.tasks[0], slots_dir=Path(os.devnull), on_error=client_errors)
    context = replace(context, shared=replace(context.shared, on_error=client_errors))
    connector, parsed = context.connector, context.plugin_config
    own = (
        ((context.settings, context.offsets_topic),)
        if isinstance(context, SourceContext) and _may_have_own_topic(context)
        else ()
    )
    group = context.group if isinstance(context, SinkContext) else ""
    return Target(
        frozenset((plan.kind,)),
        place_of(context, request.owner),
        context.exactly_once,
        ((context.shared, context.worker.offset_storage_topic), *own),
        group,
        lambda offsets: connector.alter_offsets(parsed, offsets),
        lambda: make_internal_topics(context),
    )


def _may_have_own_topic(context: SourceContext) -> bool:
    """Return whether the connector's offsets may be in a topic other than the worker's. Reading one topic twice is harmless.

    A topic on another cluster with the name of the worker's topic belongs to another worker, unless the connector delivers
    exactly once.
    """
    elsewhere = context.exactly_once and context.settings.bootstrap != context.shared.bootstrap
    return elsewhere or context.offsets_topic != context.worker.offset_storage_topic


def target_by_name(
    request: JobRequest, client_errors: ClientErrors, kinds: frozenset[str] = _BOTH, *, strict: bool = False
) -> Target:
    """Return the target of a connector from names only.

    Overrides that no valid connector would have are ignored: those for a client that it does not have, and those that the
    worker's policy forbids, because they could refer to the offsets of other connectors.

    Args:
        request: names the connector.
        client_errors: errors of the clients.
        kinds: `source`, `sink`, or both if the kind is unknown.
        strict: whether to raise if it is unclear which topics, group and cluster the configuration means, instead of
            ignoring invalid properties.

    Raises:
        ConfigError: the worker configuration is invalid, or the connector has no name; with `strict`, also if properties
            that name topics or the group, or configure the connection of clients, are invalid.
    """
    resource = Connector.draft(request.connector)
    if resource.metadata.name == UNNAMED and resource.spec.connect_name is None:
        raise ConfigError(resource.reading.problems)
    name = resource.connect_name
    secrets = None if request.secrets_dir is None else Path(request.secrets_dir)
    with ConfigProviders(request.worker, secrets) as providers:
        worker_texts = resolve(request.worker, secrets, providers=providers.table)
        resolved = resolve(resource.spec.config, secrets, providers=providers.table)
    if worker_texts.problems:
        raise ConfigError(worker_texts.problems)
    worker = WorkerConfig.parse(worker_texts.values)
    config, problems = _allowed(resolved.values, kinds, worker)
    if strict:
        problems += [p for p in resolved.problems if p.property in config and p.property.startswith(_NAMING)]
        if problems:
            raise ConfigError(problems)
    shared, _ = client_settings("sink", name, {}, worker)
    settings = client_settings("sink", name, config, worker)[0] if strict else _settings(name, config, worker) or shared
    shared, settings = replace(shared, on_error=client_errors), replace(settings, on_error=client_errors)
    topics = [(shared, worker.offset_storage_topic)]
    own = config.get(_OWN_TOPIC, "").strip() or worker.offset_storage_topic
    is_exact = exactly_once(config.get("delivery.guarantee"), worker)
    if own != worker.offset_storage_topic or (is_exact and settings.bootstrap != shared.bootstrap):
        topics.append((settings, own))
    group = str(settings.consumer.get("group.id", default_consumer_group(name)))
    place = Place(name, worker.group_id, settings, shared, worker.status_storage_topic, request.owner)
    return Target(kinds, place, False, tuple(topics), group)


def _allowed(
    config: Mapping[str, str], kinds: frozenset[str], worker: WorkerConfig
) -> tuple[dict[str, str], list[Problem]]:
    """Return the properties that apply, and problems with those that the policy forbids."""
    unused = set.intersection(*(set(unused_overrides(kind, config)) for kind in kinds))
    allowed: dict[str, str] = {}
    problems: list[Problem] = []
    for name, text in config.items():
        prefix = next((p for p in OVERRIDES.values() if name.startswith(p)), None)
        if name in unused:
            continue
        own = {} if prefix is None else {name.removeprefix(prefix): text}
        forbidden = refused(worker.override_policy, worker.override_allowlist, own, prefix or "")
        problems += forbidden
        if not forbidden:
            allowed[name] = text
    return allowed, problems


def _settings(name: str, config: Mapping[str, str], worker: WorkerConfig) -> ClientSettings | None:
    """Return clients with the sink's overrides, or with only its group if others are invalid; None if the group is, too."""
    try:
        return client_settings("sink", name, config, worker)[0]
    except ConfigError:
        pass
    group = config.get(_GROUP, "").strip()
    try:
        return client_settings("sink", name, {_GROUP: group} if group else {}, worker)[0]
    except ConfigError:
        return None
