"""Carry out a change of a connector's offsets: fence its tasks, ask its plugin, write, and read back (KIP-875).

All processes of earlier tasks are fenced first, so that none can write offsets any more. A source's records are written in
one transaction for each topic, the worker's topic first: its records count where the connector's own topic has none, so that
a removed position does not come back if the change is interrupted between the two topics. A sink's offsets are those of its
consumer group.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.errors import ConfigError, ConnectError, Superseded
from penstock.offsets import Offset, SourcePartition
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.contracts.job import JobRequest
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_runtime.fencing.incarnation import TransactionalIds
from penstock_runtime.fencing.plan_fence import Place, PlanFence, fence
from penstock_runtime.job.offsets_target import Target, target_of_valid
from penstock_runtime.job.plugin_alteration import ask_plugin
from penstock_runtime.job.with_kafka import ClientErrors, OffsetsRefused, Unavailable, with_kafka
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.groups import GroupHasMembers, Groups
from penstock_runtime.kafka.offsets_topic import StoredOffsets, load_if_present
from penstock_runtime.kafka.offsets_transaction import PlacedRecord, TransactionsRefused, write_in_transaction
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["Change", "carry_out", "fence_tasks", "refuse_members", "target_to_ask"]

log = logging.getLogger(__name__)

_MEMBERS: Final = (
    "Failed to {verb} consumer group offsets for connector {name} either because its tasks haven't stopped completely yet "
    "or the connector was resumed before the request to {verb} its offsets could be successfully completed: consumer group "
    "'{group}' has members{members}. Stop them, then {verb} again"
)
"""Message of Kafka Connect 4.3.1 (connect-semantics 6), with the members."""
_MOST_NAMED: Final = 5
_DONE: Final = {"reset": "reset", "alter": "altered"}


@dataclass(frozen=True)
class Change:
    """Change of offsets.

    Attributes:
        fence: fence of this change.
        offsets: new offset of each source partition, or of partitions of a sink's topics, for the plugin; None removes it.
        records: records to write, by index in `Target.topics`.
        is_done: returns whether the offsets read back from a topic are those of the change.
        of_group: changes a sink's consumer group, once the plugin has agreed. It receives a check to call before each
            request, which raises if the connector has been started since.
        absent: source partitions to remove that have no offset.
    """

    fence: PlanFence
    offsets: Mapping[SourcePartition, Offset | None]
    records: Mapping[int, Sequence[PlacedRecord]] = field(default_factory=dict)
    is_done: Callable[[StoredOffsets], bool] = lambda stored: True
    of_group: Callable[[Groups, Callable[[], None]], None] | None = None
    absent: frozenset[SourcePartition] = frozenset()


def target_to_ask(verb: str, request: JobRequest, client_errors: ClientErrors) -> Target:
    """Return the target of a Connector that is not deleted, whose plugin must be asked.

    Raises:
        ConfigError: the configuration is invalid.
        OffsetsRefused: the plugin fails, so it cannot be asked.
    """
    try:
        return target_of_valid(request, client_errors)
    except ConfigError:
        raise
    except Exception as e:
        cause = f"{type(e).__name__}: {e}"
        text = f"cannot load the plugin or call its alterOffsets ({cause}); nothing was {_DONE[verb]}"
        raise OffsetsRefused(text) from e


def carry_out(
    verb: str, target: Target, prepare: Callable[[], Change], client_errors: ClientErrors
) -> tuple[Change, bool]:
    """Prepare a change, ask the plugin, and write; return the change, and whether the plugin handles it (`alter_offsets`).

    Args:
        verb: `reset` or `alter`, for messages.
        target: the offsets to change.
        prepare: checks that the change can be made, fences the tasks and returns the change. It writes no offsets, only
            fences, and internal topics if they are missing.
        client_errors: errors of the target's clients.

    Raises:
        ConfigError: as `prepare`.
        OffsetsRefused: as `prepare`; or the plugin does not agree; or the consumer group now has members.
        Superseded: the connector has been started since this was requested.
        Unavailable: Kafka is unavailable or refuses, or the connector was started while offsets were written; the message
            says whether something may have been written.

    After any of these except `Unavailable`, nothing has been written.
    """
    clients = tuple({id(s): s for s in (target.place.shared, target.place.settings)}.values())
    try:
        change = with_kafka(prepare, *clients, client_errors=client_errors)
    except Unavailable as e:
        raise Unavailable(f"{e} Nothing was {_DONE[verb]}.") from e
    # Outside of Kafka's time limits: a plugin that hangs is not Kafka's fault.
    ask = target.ask
    copies = {
        p: None if o is None else dict(o) for p, o in change.offsets.items()
    }  # copies, because a plugin may change its arguments
    understood = ask is not None and ask_plugin(lambda: ask(copies), target.place.connector)
    try:
        with_kafka(lambda: _write(verb, target, change, understood=understood), *clients, client_errors=client_errors)
    except Unavailable as e:
        raise Unavailable(f"{e} Some offsets may be {_DONE[verb]}.") from e
    return change, understood


def fence_tasks(target: Target, request: JobRequest, newest: int | None) -> PlanFence:
    """Fence every earlier task of the connector.

    Raises:
        Superseded: a generation greater than `newest` is recorded, and nothing was fenced.
        RetriableError, ConnectError: as `fence`.
    """
    place = target.place
    try:
        return fence(place, transactional=target.transactional, known=request.status, newest=newest, yields=True)
    except NoSuchTopic:
        log.info("There is no status topic, so there are no earlier tasks to fence")
        return PlanFence(place, PlanEpoch(generation=0, plan=""))


def refuse_members(verb: str, target: Target, groups: Groups) -> None:
    """Check that the sink's consumer group has no members, as far as the connector may describe it.

    Raises:
        OffsetsRefused: the group has members; the message names them.
    """
    if members := groups.members(target.group):
        named = ", ".join(members[:_MOST_NAMED]) + (" and others" if len(members) > _MOST_NAMED else "")
        raise OffsetsRefused(_members(verb, target, f", {named}"))


def _members(verb: str, target: Target, members: str = "") -> str:
    return _MEMBERS.format(verb=verb, name=target.place.connector, group=target.group, members=members)


def _write(verb: str, target: Target, change: Change, *, understood: bool) -> None:
    """Write the change.

    Args:
        verb: `reset` or `alter`, for messages.
        target: the offsets to change.
        change: the change.
        understood: whether the plugin handles the change, and may have moved a position in another system.

    Raises:
        Superseded: the connector has been started since, and nothing was changed.
        OffsetsRefused: the consumer group now has members, and nothing was changed.
        Unavailable: as the previous two, but something may have been changed.
    """
    was_done = may_be_done = understood

    def check() -> None:
        nonlocal may_be_done
        change.fence.check()
        may_be_done = True

    try:
        for number, records in change.records.items():
            if records:
                _write_to_topic(target.place, *target.topics[number], records, check, change.is_done)
        was_done = may_be_done
        if change.of_group is not None:
            change.of_group(Groups(target.place.settings), check)
    except Superseded as e:
        if may_be_done:
            raise Unavailable(f"{e}.") from e
        raise
    except GroupHasMembers as e:  # refused the first request, which has changed nothing
        if was_done:
            raise Unavailable(str(e)) from e
        raise OffsetsRefused(_members(verb, target)) from e


def _write_to_topic(
    place: Place,
    settings: ClientSettings,
    topic: str,
    records: Sequence[PlacedRecord],
    check: Callable[[], None],
    is_done: Callable[[StoredOffsets], bool],
) -> None:
    transactional_id = TransactionalIds(place.group_id, place.connector, 0).driver
    try:
        write_in_transaction(settings, transactional_id, topic, records, check)
    except TransactionsRefused as e:  # at-least-once delivery does not need this permission
        log.info("Writing the offsets without a transaction: %s", e)
        check()
        _write_one_by_one(settings, topic, records, place.connector)
    if not is_done(load_if_present(settings, place.connector, topic=topic)):
        raise ConnectError(
            f"The offsets of {place.connector} in topic '{topic}' were written, but other offsets were read back; look "
            f"for a task of this connector that is still running, here or in Kafka Connect."
        )
    log.info("Wrote %d offset records of %s to topic '%s'", len(records), place.connector, topic)


def _write_one_by_one(settings: ClientSettings, topic: str, records: Sequence[PlacedRecord], connector: str) -> None:
    writer = StatusWriter(settings, client_id=f"penstock-offsets-{connector}")
    try:
        for partition in sorted({r.partition for r in records}):
            writer.write(topic, [(r.key, r.value) for r in records if r.partition == partition], partition=partition)
    finally:
        writer.close()
