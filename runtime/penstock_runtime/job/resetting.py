"""Resets a connector's offsets: a source's records in offsets topics, a sink's consumer group (KIP-875).

All processes of earlier tasks are fenced first, so that none writes offsets afterwards. Then the plugin is asked, then the
offsets are removed and read back. Of a Connector that is deleted, and whose configuration is wrong or whose plugin is
missing, the offsets are found by the connector's name alone, so that the user can start anew. Of one that stays they are
not: a plugin that would refuse must be asked.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock.offsets import SourcePartition
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.contracts.job import JobRequest, OffsetsWork
from penstock_model.contracts.pod_identity import Standing
from penstock_runtime.fencing.incarnation import TransactionalIds
from penstock_runtime.fencing.plan_fence import Place, PlanFence, fence
from penstock_runtime.job.offsets_target import Target, target_by_name, target_of_valid
from penstock_runtime.job.plugin_alteration import ask_plugin
from penstock_runtime.job.preparing import ClientErrors, OffsetsRefused, Unavailable, with_kafka
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.kafka.offsets_topic import load_if_present
from penstock_runtime.kafka.offsets_transaction import PlacedRecord, TransactionsRefused, write_in_transaction
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["reset", "reset_of_valid"]

log = logging.getLogger(__name__)

# The messages of Kafka Connect 4.3.1 (connect-semantics 6).
_RESET: Final = "The offsets for this connector have been reset successfully"
_RESET_OURS: Final = (
    "The Connect framework-managed offsets for this connector have been reset successfully. However, if this connector "
    "manages offsets externally, they will need to be manually reset in the system that the connector uses."
)
_MEMBERS: Final = (
    "Failed to reset consumer group offsets for connector {name} either because its tasks haven't stopped completely yet or "
    "the connector was resumed before the request to reset its offsets could be successfully completed: consumer group "
    "'{group}' has members, {members}. Stop them, then reset again"
)
_MOST_NAMED: Final = 5


@dataclass(frozen=True)
class _Found:
    """What is to be removed.

    Attributes:
        fence: of this reset.
        partitions: source partitions, or those of topics that the group has offsets of.
        records: by place in `Target.topics`, the tombstones for every record that compaction keeps.
    """

    fence: PlanFence
    partitions: Mapping[SourcePartition, None]
    records: Mapping[int, Sequence[PlacedRecord]] = field(default_factory=dict)


def reset_of_valid(request: JobRequest, work: OffsetsWork) -> tuple[str, tuple[Problem, ...]]:
    """Reset the offsets of a Connector that stays; the message of the answer, and warnings.

    Raises:
        ConfigError: the configuration is wrong, so that the plugin cannot be asked.
        OffsetsRefused: the plugin does not agree, or the group has members.
        Superseded: the connector was started since this was asked for.
        Unavailable: Kafka is away, or refuses, or the connector was started while something may already have been reset; the
            message says whether that may be.
        All but the last: nothing was reset.
    """
    client_errors = ClientErrors()
    try:
        target = target_of_valid(request, client_errors)
    except ConfigError:
        raise
    except Exception as e:
        raise OffsetsRefused(f"The plugin cannot be asked, and nothing was reset: {type(e).__name__}: {e}") from e
    return _reset(request, target, client_errors, newest=work.generation), ()


def reset(request: JobRequest) -> tuple[str, tuple[Problem, ...]]:
    """Reset the offsets of a Connector that is deleted; the message of the answer, and warnings.

    Raises:
        ConfigError: the worker configuration is wrong, or the connector has no name.
        OffsetsRefused, Superseded, Unavailable: as `reset_of_valid`.
    """
    client_errors = ClientErrors()
    warnings: tuple[Problem, ...] = ()
    try:
        target = target_of_valid(request, client_errors)
    except ConfigError as e:
        target = target_by_name(request, client_errors)
        what = "its records in the offsets topics and its consumer group were reset by name, and no plugin was asked"
        warnings = (Problem("", f"The connector's configuration is not valid, so {what}"), *e.problems)
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        target = target_by_name(request, client_errors)
        warnings = (Problem("", f"The plugin cannot be asked ({type(e).__name__}: {e}); offsets were reset by name"),)
    return _reset(request, target, client_errors), warnings


def _reset(request: JobRequest, target: Target, client_errors: ClientErrors, *, newest: int | None = None) -> str:
    clients = tuple({id(s): s for s in (target.place.shared, target.place.settings)}.values())
    try:
        found = with_kafka(lambda: _fence_and_find(target, request, newest), *clients, client_errors=client_errors)
    except Unavailable as e:
        raise Unavailable(f"{e} Nothing was reset.") from e
    # Not within the time limits of Kafka, which is not to blame for a plugin that hangs.
    ask = target.ask
    understood = ask is not None and ask_plugin(lambda: ask(dict(found.partitions)), target.place.connector)
    try:
        with_kafka(lambda: _remove(target, found, understood=understood), *clients, client_errors=client_errors)
    except Unavailable as e:
        raise Unavailable(f"{e} Some offsets may be reset.") from e
    what = "position was" if len(found.partitions) == 1 else "positions were"
    message = _RESET if understood else _RESET_OURS
    return f"{message.removesuffix('.')}. {len(found.partitions)} {what} removed."


def _fence_and_find(target: Target, request: JobRequest, newest: int | None) -> _Found:
    place = target.place
    groups = Groups(place.settings) if "sink" in target.kinds else None
    if groups is not None and (members := groups.members(target.group)):
        named = ", ".join(members[:_MOST_NAMED]) + (" and others" if len(members) > _MOST_NAMED else "")
        raise OffsetsRefused(_MEMBERS.format(name=place.connector, group=target.group, members=named))
    try:
        plan_fence = fence(place, transactional=target.transactional, known=request.status, newest=newest, yields=True)
    except NoSuchTopic:
        log.info("There is no status topic, so there are no earlier tasks to fence")
        plan_fence = PlanFence(place, Standing(generation=0, plan=""))
    partitions: dict[SourcePartition, None] = {}
    records: dict[int, Sequence[PlacedRecord]] = {}
    if "source" in target.kinds:
        for number, (settings, topic) in enumerate(target.topics):
            stored = load_if_present(settings, place.connector, topic=topic)
            partitions |= dict.fromkeys(stored.forms)
            records[number] = [
                PlacedRecord(p, key, None) for p, keys in sorted(stored.live.items()) for key in sorted(keys)
            ]
    if groups is not None:
        for p in groups.committed(target.group):
            partitions[SourcePartition({"kafka_topic": p.topic, "kafka_partition": p.partition})] = None
    return _Found(plan_fence, partitions, records)


def _remove(target: Target, found: _Found, *, understood: bool) -> None:
    """Remove what was found; `understood`: the plugin handles the reset, and may have set back a position of its own.

    Raises:
        Superseded: the connector was started since, and nothing was done.
        Unavailable: as that, but something may have been done.
    """
    place = target.place
    may_be_done = understood

    def check() -> None:
        nonlocal may_be_done
        found.fence.check()
        may_be_done = True

    try:
        for number, records in found.records.items():
            if records:
                _write(place, *target.topics[number], records, check)
        if "sink" in target.kinds:
            check()
            was = Groups(place.settings).delete(target.group)
            log.info("Consumer group '%s' %s", target.group, "is deleted" if was else "did not exist")
    except Superseded as e:
        if may_be_done:
            raise Unavailable(f"{e}.") from e
        raise


def _write(
    place: Place, settings: ClientSettings, topic: str, records: Sequence[PlacedRecord], check: Callable[[], None]
) -> None:
    """Write tombstones to the partitions that hold the records: after partitions were added, their keys map to others."""
    transactional_id = TransactionalIds(place.group_id, place.connector, 0).driver
    try:
        write_in_transaction(settings, transactional_id, topic, records, check)
    except TransactionsRefused as e:  # delivery at least once needs no right to it
        log.info("The offsets are removed without a transaction: %s", e)
        check()
        _write_one_by_one(settings, topic, records, place.connector)
    if load_if_present(settings, place.connector, topic=topic).live:
        raise ConnectError(
            f"The offsets of {place.connector} in topic '{topic}' were removed, and there are some again: look for a task "
            f"of this connector that still runs, here or in Kafka Connect."
        )
    log.info("Forgot %d offset records of %s in topic '%s'", len(records), place.connector, topic)


def _write_one_by_one(settings: ClientSettings, topic: str, records: Sequence[PlacedRecord], connector: str) -> None:
    writer = StatusWriter(settings, client_id=f"penstock-reset-{connector}")
    try:
        for partition in sorted({r.partition for r in records}):
            writer.write(topic, [(r.key, r.value) for r in records if r.partition == partition], partition=partition)
    finally:
        writer.close()
