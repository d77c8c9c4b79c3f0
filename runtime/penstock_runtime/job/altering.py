"""Set positions of a connector: a source's in offsets topics, a sink's in its consumer group (KIP-875).

The request sets a position for each partition that it names; others are unchanged. A null position removes the partition.
"""

from collections.abc import Callable, Sequence
from typing import Final

from penstock.errors import ConnectError, RetriableError
from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock.sink import TopicPartition
from penstock_kafka.murmur2 import partition_of
from penstock_kafka.offset_deletion import check_deletion
from penstock_model.contracts.job import JobRequest, OffsetsWork
from penstock_runtime.job.alter_request import read_sink_offsets, read_source_offsets
from penstock_runtime.job.offsets_change import Change, carry_out, fence_tasks, refuse_members, target_to_ask
from penstock_runtime.job.offsets_target import Target
from penstock_runtime.job.sink_positions import check_positions, positions_of
from penstock_runtime.job.with_kafka import ClientErrors
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.groups import GroupHasMembers, Groups
from penstock_runtime.kafka.offsets_topic import StoredOffsets, load_if_present
from penstock_runtime.kafka.offsets_transaction import PlacedRecord

__all__ = ["alter", "altered_records", "requested_offsets"]

# Messages of Kafka Connect 4.3.1 (connect-semantics 6).
_ALTERED: Final = "The offsets for this connector have been altered successfully"
_ALTERED_OURS: Final = (
    "The Connect framework-managed offsets for this connector have been altered successfully. However, if this connector "
    "manages offsets externally, they will need to be manually altered in the system that the connector uses."
)


def alter(request: JobRequest, work: OffsetsWork) -> str:
    """Set the positions of `work.document`, and return the message of the answer.

    Raises:
        ConfigError: the configuration or the document is invalid; or it names Kafka partitions that do not exist, or
            positions past their ends. It contains all problems of the first of these kinds.
        OffsetsRefused, Superseded, Unavailable: as `carry_out`.
    """
    client_errors = ClientErrors()
    target = target_to_ask("alter", request, client_errors)
    offsets = requested_offsets(target, work.document)
    prepare = _of_sink if "sink" in target.kinds else _of_source
    change, understood = carry_out("alter", target, prepare(request, work, target, offsets), client_errors)
    return _message(change, understood=understood)


def requested_offsets(target: Target, document: str) -> dict[SourcePartition, Offset | None]:
    """Return the new offset of each partition in the document. Those of a sink have the form that plugins receive.

    Raises:
        ConfigError: the document is invalid; it contains all problems.
    """
    if "sink" not in target.kinds:
        return read_source_offsets(document)
    return {
        _of_kafka(p): None if offset is None else {"kafka_offset": offset}
        for p, offset in read_sink_offsets(document, target.place.connector).items()
    }


def _message(change: Change, *, understood: bool) -> str:
    removed = sum(o is None for o in change.offsets.values()) - len(change.absent)
    parts = [_count(len(change.offsets) - removed - len(change.absent), "set"), _count(removed, "removed")]
    if change.absent:
        parts.append(f"{_count(len(change.absent), 'to be removed')} but did not exist")
    message = _ALTERED if understood else _ALTERED_OURS
    return f"{message.removesuffix('.')}. {', '.join(filter(None, parts))}."


def _count(number: int, what: str) -> str:
    return "" if not number else f"{number} {'position was' if number == 1 else 'positions were'} {what}"


def _of_source(request: JobRequest, work: OffsetsWork, target: Target, offsets: OffsetUpdates) -> Callable[[], Change]:
    """Return a function that prepares the change of a source.

    It creates missing topics, because positions may be set before the first start.
    """

    def prepared() -> Change:
        target.make_topics()
        plan_fence = fence_tasks(target, request, work.generation)
        records: dict[int, Sequence[PlacedRecord]] = {}
        keys: dict[SourcePartition, bytes] = {}
        absent = {p for p, offset in offsets.items() if offset is None}
        for number, (settings, topic) in enumerate(target.topics):
            partitions = Admin(settings, servers=settings.bootstrap).topics().get(topic)
            if partitions is None:  # just created, and not known to all brokers yet
                raise RetriableError(
                    f"Topic '{topic}' is not known to the brokers at {settings.bootstrap} yet; try again."
                )
            stored = load_if_present(settings, target.place.connector, topic=topic)
            stored.keys = keys = {**keys, **stored.keys}  # a position has the same key in both topics, if possible
            absent -= stored.places.keys()
            records[number] = altered_records(stored, offsets, partitions)
        return Change(plan_fence, offsets, records, lambda stored: _holds(stored, offsets), absent=frozenset(absent))

    return prepared


def altered_records(stored: StoredOffsets, offsets: OffsetUpdates, partitions: int) -> list[PlacedRecord]:
    """Return the records that set these positions in an offsets topic. Pure.

    A position is written with the key that holds it, to the partition that Kafka's partitioner chooses for the key. Its
    other keys get tombstones. If the same key is also in other partitions, because partitions were added, it gets the same
    position there instead of a tombstone: of two records with the same timestamp, either may count.

    Args:
        stored: contents of the topic.
        offsets: new position of each source partition; None removes it.
        partitions: number of partitions of the topic.
    """
    records: list[PlacedRecord] = []
    for source_partition, offset in offsets.items():
        key, value = stored.entry(source_partition, offset)
        places = sorted(stored.places.get(source_partition, ()))
        if value is not None:
            ours = {partition_of(key, partitions), *(number for number, its_key in places if its_key == key)}
            records += (PlacedRecord(number, key, value) for number in sorted(ours))
        records += (PlacedRecord(n, its_key, None) for n, its_key in places if value is None or its_key != key)
    return records


def _holds(stored: StoredOffsets, offsets: OffsetUpdates) -> bool:
    return all(p not in stored.places if o is None else stored.offsets.get(p) == o for p, o in offsets.items())


def _of_sink(request: JobRequest, work: OffsetsWork, target: Target, offsets: OffsetUpdates) -> Callable[[], Change]:
    """Return a function that prepares the change of a sink, whose positions must exist in Kafka."""
    positions = positions_of(offsets)
    nulls = {p for p, offset in offsets.items() if offset is None}

    def prepared() -> Change:
        groups = Groups(target.place.settings)
        refuse_members("alter", target, groups)
        check_positions(target, positions)
        if nulls:
            check_deletion()
        plan_fence = fence_tasks(target, request, work.generation)
        committed = {_of_kafka(p): p for p in groups.committed(target.group)}
        removed = [committed[p] for p in nulls if p in committed]

        def write(groups: Groups, check: Callable[[], None]) -> None:
            if positions:
                groups.set(target.group, positions, check)
            if removed:
                try:
                    groups.remove(target.group, removed, check)
                except GroupHasMembers as e:
                    raise ConnectError(str(e)) if positions else e from e

        return Change(plan_fence, offsets, of_group=write, absent=frozenset(nulls - committed.keys()))

    return prepared


def _of_kafka(partition: TopicPartition) -> SourcePartition:
    """Return a Kafka partition in the form of KIP-875's JSON."""
    return SourcePartition({"kafka_topic": partition.topic, "kafka_partition": partition.partition})
