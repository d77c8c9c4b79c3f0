"""Records that set a source's positions in an offsets topic."""

from collections.abc import Iterable

from penstock.offsets import Offset, SourcePartition
from penstock_kafka.murmur2 import partition_of
from penstock_kafka.records import Record
from penstock_runtime.job.altering import altered_records
from penstock_runtime.kafka.offsets_topic import StoredOffsets, fold
from penstock_runtime.kafka.offsets_transaction import PlacedRecord

PARTITIONS = 25
ONE = SourcePartition({"a": 1, "b": 2})
FORMS = [b'["c",{"a":1,"b":2}]', b'["c",{"b":2,"a":1}]']


def stored(*records: tuple[bytes, bytes | None, int]) -> StoredOffsets:
    """Each with its key, value and partition; the time is its place in the list."""
    return fold("c", [Record(key, value, n, n, p) for n, (key, value, p) in enumerate(records)])


def records(of: StoredOffsets, offset: Offset | None) -> set[PlacedRecord]:
    return set(altered_records(of, {ONE: offset}, PARTITIONS))


def at(key: bytes) -> int:
    return partition_of(key, PARTITIONS)


def test_new_position_is_written_to_the_partition_of_kafkas_partitioner() -> None:
    assert records(stored(), {"i": 1}) == {PlacedRecord(at(FORMS[0]), FORMS[0], b'{"i":1}')}


def test_the_newest_form_of_a_key_holds_the_position_and_the_others_get_tombstones() -> None:
    found = stored(*((form, b"{}", at(form)) for form in FORMS))
    assert records(found, {"i": 1}) == {
        PlacedRecord(at(FORMS[1]), FORMS[1], b'{"i":1}'),
        PlacedRecord(at(FORMS[0]), FORMS[0], None),
    }


def test_null_writes_a_tombstone_to_each_partition_with_a_record() -> None:
    found = stored((FORMS[0], b"{}", 3), (FORMS[0], None, 4), (FORMS[1], b"{}", 5), (b'["c",{"a":2}]', b"{}", 6))
    assert records(found, None) == {PlacedRecord(3, FORMS[0], None), PlacedRecord(5, FORMS[1], None)}
    assert records(stored(), None) == set()


def test_key_in_several_partitions_gets_the_position_in_each() -> None:
    """One that a newer tombstone elsewhere hides, too: it would come back once compaction has removed the tombstone."""
    other = (at(FORMS[0]) + 1) % PARTITIONS
    found = stored((FORMS[0], b"{}", other), (FORMS[0], b"{}", at(FORMS[0])))
    both = {PlacedRecord(p, FORMS[0], b'{"i":1}') for p in (other, at(FORMS[0]))}
    assert records(found, {"i": 1}) == both
    hidden = stored((FORMS[0], b"{}", other), (FORMS[0], None, at(FORMS[0])))
    assert records(hidden, {"i": 1}) == both
    assert _read_back(both) == {ONE: {"i": 1}}
    assert _read_back(sorted(both, reverse=True)) == {ONE: {"i": 1}}


def _read_back(written: Iterable[PlacedRecord]) -> dict[SourcePartition, Offset]:
    """With one time for all, as the brokers may give them."""
    return fold("c", [Record(r.key, r.value, 7, 0, r.partition) for r in written]).offsets
