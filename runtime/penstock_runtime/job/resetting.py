"""Resets a connector's offsets: a source's records in offsets topics, a sink's consumer group (KIP-875).

If the configuration is wrong or the plugin is missing, the offsets are found by the connector's name alone, so that the user
can start anew. All processes of earlier tasks are fenced first, so that none writes offsets afterwards.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import Offset, SourcePartition
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.job import JobRequest
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.resources.connector import UNNAMED, Connector
from penstock_runtime.fencing.prepare import Place, fence
from penstock_runtime.job.preparing import ClientErrors, with_kafka
from penstock_runtime.job.validating import planned
from penstock_runtime.kafka import offsets_topic
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.context import client_settings
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.source.context import SourceContext
from penstock_runtime.task.context import task_context

__all__ = ["reset"]

log = logging.getLogger(__name__)

# The messages of Kafka Connect (connect-semantics 10).
_RESET: Final = "The offsets for this connector have been reset successfully"
_RESET_OURS: Final = (
    "The Connect framework-managed offsets for this connector have been reset successfully. However, if this connector "
    "manages offsets externally, they will need to be manually reset in the system that the connector uses."
)
_OWN_TOPIC: Final = "offsets.storage.topic"
_GROUP: Final = "consumer.override.group.id"


@dataclass(frozen=True)
class _Target:
    """The offsets to reset.

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


def reset(request: JobRequest) -> tuple[str, tuple[Problem, ...]]:
    """Reset the offsets of the request's connector; the message of the answer, and warnings.

    Raises:
        ConfigError: the worker configuration is wrong, or the connector has no name.
        Superseded: the connector is being started elsewhere at this moment.
        Unavailable: Kafka is away, or refuses.
        ConnectError: the plugin refuses; nothing was reset.
    """
    client_errors = ClientErrors()
    warnings: tuple[Problem, ...] = ()
    try:
        target = _target_of_valid(request, client_errors)
    except ConfigError as e:
        target = _target_by_name(request, client_errors)
        what = "its records in the offsets topics and its consumer group were reset by name, and no plugin was asked"
        warnings = (Problem("", f"The connector's configuration is not valid, so {what}"), *e.problems)
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        target = _target_by_name(request, client_errors)
        warnings = (Problem("", f"The plugin cannot be asked ({type(e).__name__}: {e}); offsets were reset by name"),)
    settings = {id(s): s for s in (target.place.shared, target.place.settings)}
    refusal: list[Exception] = []

    def work() -> bool | None:
        try:
            return _reset(target, request.status)
        except _Refused as e:
            refusal.append(e)
            return None

    understood = with_kafka(work, *settings.values(), client_errors=client_errors)
    if refusal:
        raise ConnectError(str(refusal[0]))
    return _RESET if understood else _RESET_OURS, warnings


class _Refused(Exception):
    """The plugin refuses. Nothing was reset."""


def _reset(target: _Target, known: StatusSnapshot | None) -> bool:
    name = target.place.connector
    try:
        fence(target.place, transactional=target.transactional, known=known)
    except NoSuchTopic:
        log.info("There is no status topic, so there are no earlier tasks to fence")
    writes: list[tuple[ClientSettings, str, Mapping[int, list[bytes]]]] = []
    forgotten: dict[SourcePartition, Offset | None] = {}
    if "source" in target.kinds:
        for settings, topic in target.topics:
            try:
                stored = offsets_topic.load(settings, name, topic=topic)
            except NoSuchTopic:
                continue
            writes.append((settings, topic, stored.live))
            forgotten.update(dict.fromkeys(stored.offsets))
    groups = Groups(target.place.settings) if "sink" in target.kinds else None
    if groups is not None and target.ask is not None:
        for p in groups.partitions(target.group):
            forgotten[SourcePartition({"kafka_topic": p.topic, "kafka_partition": p.partition})] = None
    understood = _ask_plugin(target, forgotten)
    for settings, topic, live in writes:
        _write_tombstones(settings, topic, live, name)
        log.info("Forgot %d offset records of %s in topic '%s'", sum(map(len, live.values())), name, topic)
    if groups is not None:
        was = groups.delete(target.group)
        log.info("Consumer group '%s' %s", target.group, "is deleted" if was else "did not exist")
    return understood


def _ask_plugin(target: _Target, forgotten: Mapping[SourcePartition, Offset | None]) -> bool:
    """Whether the plugin handles the reset itself. Raises _Refused."""
    if target.ask is None:
        return False
    try:
        return target.ask(forgotten)
    except Exception as e:
        raise _Refused(str(e) if isinstance(e, ConnectError) else f"{type(e).__name__}: {e}") from e


def _write_tombstones(settings: ClientSettings, topic: str, live: Mapping[int, list[bytes]], connector: str) -> None:
    """Write tombstones to the partitions that hold the records: after partitions were added, their keys map to others."""
    if not live:
        return
    writer = StatusWriter(settings, client_id=f"penstock-reset-{connector}")
    try:
        for partition, keys in sorted(live.items()):
            writer.write(topic, [(key, None) for key in sorted(keys)], partition=partition)
    finally:
        writer.close()


def _target_of_valid(request: JobRequest, client_errors: ClientErrors) -> _Target:
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
    return _Target(
        frozenset((plan.kind,)), Place.of(context), context.exactly_once,
        ((context.shared, context.worker.offset_storage_topic), *own), group,
        lambda offsets: connector.alter_offsets(parsed, offsets),
    )  # fmt: skip


def _may_have_own_topic(context: SourceContext) -> bool:
    """Whether the connector's offsets may be in another topic than the worker's. To read one topic twice does no harm."""
    return (
        context.offsets_topic != context.worker.offset_storage_topic
        or context.settings.bootstrap != context.shared.bootstrap
    )


def _target_by_name(request: JobRequest, client_errors: ClientErrors) -> _Target:
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
    place = Place(name, worker.group_id, settings, shared, worker.status_storage_topic)
    return _Target(frozenset(("source", "sink")), place, False, tuple(topics), group)


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
