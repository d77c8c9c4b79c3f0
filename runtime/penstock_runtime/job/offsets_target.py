"""The offsets that belong to a connector: in which topics and group, on which clusters, and which plugin is asked.

If the configuration is wrong or the plugin is missing, only names are certain; then there is a target by name, without a
plugin.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConfigError
from penstock.offsets import Offset, SourcePartition
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.job import JobRequest
from penstock_model.resources.connector import UNNAMED, Connector
from penstock_runtime.fencing.prepare import Place
from penstock_runtime.job.preparing import ClientErrors
from penstock_runtime.job.validating import planned
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.context import client_settings
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.source.context import SourceContext
from penstock_runtime.task.context import task_context

__all__ = ["Target", "target_by_name", "target_of_valid"]

_OWN_TOPIC: Final = "offsets.storage.topic"
_GROUP: Final = "consumer.override.group.id"


@dataclass(frozen=True)
class Target:
    """The offsets of a connector.

    Attributes:
        kinds: `source`, `sink`, or both if the kind is not known.
        place: of the incarnation records.
        transactional: earlier incarnations may have had transactional ids that no record names.
        topics: offsets topics and their clients. The worker's is reset first: its records count where the other has none, so
            that after a reset that was cut off an old value there would count again.
        group: consumer group of a sink.
        ask: the plugin's `alter_offsets`.
    """

    kinds: frozenset[str]
    place: Place
    transactional: bool
    topics: tuple[tuple[ClientSettings, str], ...]
    group: str
    ask: Callable[[Mapping[SourcePartition, Offset | None]], bool] | None = None


def target_of_valid(request: JobRequest, client_errors: ClientErrors) -> Target:
    """The target of a connector whose configuration is valid.

    Raises:
        ConfigError: it is not valid, or it has no task, so that its plugin cannot be asked.
    """
    plan, _ = planned(request)
    if not plan.tasks:
        raise ConfigError("the connector asks for no task")
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
        frozenset((plan.kind,)), Place.of(context, request.owner), context.exactly_once,
        ((context.shared, context.worker.offset_storage_topic), *own), group,
        lambda offsets: connector.alter_offsets(parsed, offsets),
    )  # fmt: skip


def _may_have_own_topic(context: SourceContext) -> bool:
    """Whether the connector's offsets may be in another topic than the worker's. To read one topic twice does no harm."""
    return (
        context.offsets_topic != context.worker.offset_storage_topic
        or context.settings.bootstrap != context.shared.bootstrap
    )


def target_by_name(request: JobRequest, client_errors: ClientErrors) -> Target:
    """The target of a connector of which only names are certain.

    Raises:
        ConfigError: the worker configuration is wrong, or the connector has no name.
    """
    resource = Connector.draft(request.connector)
    if resource.metadata.name == UNNAMED and resource.spec.connect_name is None:
        raise ConfigError(resource.reading.problems)
    name = resource.connect_name
    worker_texts = resolve(request.worker, request.secrets_dir)
    if worker_texts.problems:
        raise ConfigError(worker_texts.problems)
    worker = WorkerConfig.parse(worker_texts.values)
    config = dict(resolve(resource.spec.config, request.secrets_dir).values)
    shared, _ = client_settings("sink", name, {}, worker)
    settings = _settings(name, config, worker) or shared
    shared, settings = replace(shared, on_error=client_errors), replace(settings, on_error=client_errors)
    topics = [(shared, worker.offset_storage_topic)]
    own = config.get(_OWN_TOPIC, "").strip() or worker.offset_storage_topic
    if (settings.bootstrap, own) != (shared.bootstrap, worker.offset_storage_topic):
        topics.append((settings, own))
    group = str(settings.consumer.get("group.id", f"connect-{name}"))
    place = Place(name, worker.group_id, settings, shared, worker.status_storage_topic, request.owner)
    return Target(frozenset(("source", "sink")), place, False, tuple(topics), group)


def _settings(name: str, config: Mapping[str, Any], worker: WorkerConfig) -> ClientSettings | None:
    """Clients with the connector's overrides, or with its consumer group alone if others are wrong; None if it is wrong."""
    try:
        return client_settings("sink", name, config, worker)[0]
    except ConfigError:
        pass
    group = config.get(_GROUP, "").strip()
    try:
        return client_settings("sink", name, {_GROUP: group} if group else {}, worker)[0]
    except ConfigError:
        return None
