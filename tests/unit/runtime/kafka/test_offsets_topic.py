"""Source offsets byte for byte as Kafka Connect keeps them, compared as structures (connect-semantics 1)."""

from collections.abc import Sequence

import pytest

from penstock import Offset, Primitive, SourcePartition
from penstock_kafka.records import Entry, Record
from penstock_runtime.kafka.offsets_topic import StoredOffsets
from penstock_runtime.kafka.offsets_topic import fold as fold_stamped


def fold(connector: str, entries: Sequence[Entry]) -> StoredOffsets:
    """Of one partition, all written within one millisecond."""
    return fold_stamped(connector, [Record(key, value, 0, place) for place, (key, value) in enumerate(entries)])


FIELDS: dict[str, Primitive] = {"zeta": 1, "alpha": "x", "b": True, "c": 1.5, "n": None}


@pytest.mark.parametrize(
    ("connector", "partition", "offset", "key", "value"),
    [
        (
            "fs-1",
            {"filename": "/data/in.txt"},
            {"position": 35},
            '["fs-1",{"filename":"/data/in.txt"}]',
            '{"position":35}',
        ),
        ("ord", {}, {"i": 1}, '["ord",{}]', '{"i":1}'),
        ("ord", FIELDS, {"pos": 3}, '["ord",{"zeta":1,"alpha":"x","b":true,"c":1.5,"n":null}]', '{"pos":3}'),
        ('ü "q" \\', {"é": "ß"}, {"d": 2.0, "s": "ä"}, '["ü \\"q\\" \\\\",{"é":"ß"}]', '{"d":2.0,"s":"ä"}'),
        ("gone", {"p": "a"}, None, '["gone",{"p":"a"}]', None),
    ],
)
def test_a_record_has_connects_bytes(
    connector: str, partition: dict[str, str], offset: Offset | None, key: str, value: str | None
) -> None:
    record = StoredOffsets(connector).entry(SourcePartition(partition), offset)
    assert record == (key.encode(), None if value is None else value.encode())


def test_what_was_written_is_read() -> None:
    stored = StoredOffsets("c")
    entries = stored.entries({SourcePartition({"p": "a"}): {"i": 1}, SourcePartition(FIELDS): {"s": "x", "n": None}})
    assert fold("c", entries).offsets == {
        SourcePartition({"p": "a"}): {"i": 1},
        SourcePartition(FIELDS): {"s": "x", "n": None},
    }


def test_a_partition_is_found_in_any_order_of_its_fields_and_written_under_the_key_it_had() -> None:
    key = b'["ord",{"zeta":1,"alpha":"x","b":true,"c":1.5,"n":null}]'
    stored = fold("ord", [(key, b'{"pos":3}')])
    asked = SourcePartition(dict(sorted(FIELDS.items())))
    assert stored.offsets[asked] == {"pos": 3}
    assert stored.entry(asked, {"pos": 99}) == (key, b'{"pos":99}')


def test_numbers_texts_and_truths_are_different_partitions() -> None:
    entries = [
        (f'["c",{{"p":{v}}}]'.encode(), f'{{"i":{n}}}'.encode()) for n, v in enumerate(["1", "1.0", '"1"', "true"])
    ]
    assert len(fold("c", entries).offsets) == 4


def test_the_last_record_of_a_key_holds() -> None:
    key = b'["c",{"p":"a"}]'
    assert fold("c", [(key, b'{"i":1}'), (key, b'{"i":2}')]).offsets == {SourcePartition({"p": "a"}): {"i": 2}}
    assert fold("c", [(key, b'{"i":1}'), (key, None)]).offsets == {}
    assert fold("c", [(key, b'{"i":1}'), (key, None), (key, b'{"i":3}')]).offsets == {
        SourcePartition({"p": "a"}): {"i": 3}
    }


@pytest.mark.parametrize("value", [b'{"i":2}', None])
@pytest.mark.parametrize("newer_first", [True, False])
def test_of_two_partitions_of_a_topic_that_grew_the_newest_record_of_a_key_holds(
    newer_first: bool, value: bytes | None
) -> None:
    key = b'["c",{"p":"a"}]'
    before = [Record(key, b'{"i":0}', 300, 8, partition=0), Record(key, b'{"i":1}', 100, 9, partition=0)]
    after = [Record(key, value, 200, 0, partition=3)]
    stored = fold_stamped("c", [*after, *before] if newer_first else [*before, *after])
    assert stored.offsets == ({SourcePartition({"p": "a"}): {"i": 2}} if value else {})


def test_every_partition_in_which_a_record_would_outlive_compaction_is_known() -> None:
    one, two, gone = b'["c",{"p":1}]', b'["c",{"p":2}]', b'["c",{"p":3}]'
    stored = fold_stamped(
        "c",
        [
            Record(one, b'{"i":1}', 100, 0, partition=0),
            Record(two, b'{"i":1}', 100, 1, partition=0),
            Record(gone, b'{"i":1}', 100, 2, partition=0),
            Record(gone, None, 200, 3, partition=0),
            Record(one, b'{"i":2}', 300, 0, partition=3),
            Record(two, None, 300, 0, partition=4),
        ],
    )
    assert stored.offsets == {SourcePartition({"p": 1}): {"i": 2}}
    assert stored.live == {0: [one, two], 3: [one]}


FORMS = b'["c",{"a":1,"b":2}]', b'["c",{"b":2,"a":1}]'
BOTH = SourcePartition({"a": 1, "b": 2})


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_two_byte_forms_the_one_with_the_newer_timestamp_holds_in_any_order(
    newer_first: bool,
) -> None:
    records = [Record(FORMS[0], b'{"i":1}', 100, 9), Record(FORMS[1], b'{"i":2}', 101, 3)]
    stored = fold_stamped("c", reversed(records) if newer_first else records)
    assert stored.offsets == {BOTH: {"i": 2}}
    assert stored.forms == {BOTH: set(FORMS)}


def test_the_form_that_lost_gets_a_tombstone_with_the_next_record_of_the_other_and_only_once() -> None:
    stored = fold_stamped("c", [Record(FORMS[0], b'{"i":1}', 101, 0), Record(FORMS[1], b'{"i":2}', 100, 7)])
    other = SourcePartition({"p": 1})
    assert stored.entries({other: {"i": 5}}) == [(b'["c",{"p":1}]', b'{"i":5}')]
    assert stored.entries({BOTH: {"i": 3}}) == [(FORMS[0], b'{"i":3}'), (FORMS[1], None)]
    stored.advance({BOTH: {"i": 3}})
    assert stored.entries({BOTH: {"i": 4}}) == [(FORMS[0], b'{"i":4}')]


def test_a_form_that_got_its_tombstone_leaves_the_other_one() -> None:
    records = [
        Record(FORMS[0], b'{"i":1}', 100, 0),
        Record(FORMS[1], b'{"i":2}', 101, 0),
        Record(FORMS[0], b'{"i":3}', 102, 1),
        Record(FORMS[1], None, 103, 1),
    ]
    stored = fold_stamped("c", records)
    assert (stored.offsets, stored.forms) == ({BOTH: {"i": 3}}, {BOTH: {FORMS[0]}})


def test_of_two_byte_forms_the_last_written_holds_and_both_are_known() -> None:
    one, two = b'["c",{"a":1,"b":2}]', b'["c",{"b":2,"a":1}]'
    partition = SourcePartition({"a": 1, "b": 2})
    stored = fold("c", [(one, b'{"i":1}'), (two, b'{"i":2}')])
    assert stored.offsets == {partition: {"i": 2}}
    assert stored.forms == {partition: {one, two}}
    assert stored.entry(partition, {"i": 3})[0] == two


def test_other_connectors_are_left_untouched() -> None:
    entries = [
        (b'["c-2",{"p":"a"}]', b'{"i":1}'),
        (b'["other",{"c":"c"}]', b'{"i":1}'),
        (b'["c",{"p":"a"}]', b'{"i":2}'),
    ]
    assert fold("c", entries).offsets == {SourcePartition({"p": "a"}): {"i": 2}}


def test_a_name_that_was_written_escaped_is_recognised() -> None:
    assert fold("ü", [(b'["\\u00fc",{"p":"a"}]', b'{"i":1}')]).offsets == {SourcePartition({"p": "a"}): {"i": 1}}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'["c"]', b"{}"),
        (b'["c",{"p":{"nested":1}}]', b"{}"),
        (b'["c",{"p":"a"}', b"{}"),
        (b'["c",{"p":"a"}]', b"[1]"),
        (b'["c",{"p":"a"}]', b"nonsense"),
        (b'["c",7]', b"{}"),
        (b'["c",{"p":"a"},1]', b"{}"),
        (b"c", b"{}"),
    ],
)
def test_a_malformed_record_is_logged_and_passed_over(
    key: bytes, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    stored = fold("c", [(key, value), (b'["c",{"p":"good"}]', b'{"i":1}')])
    assert stored.offsets == {SourcePartition({"p": "good"}): {"i": 1}}
    assert "Ignoring a malformed record in the offsets topic" in caplog.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e10, "1.0E10"),
        (0.1, "0.1"),
        (-1e-5, "-1.0E-5"),
        (10**20, "100000000000000000000"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        ("😀", '"\\uD83D\\uDE00"'),
        ("a\ud83d", '"a\\uD83D"'),
        ('\x1f\t\\u001f "1e10" NaN', '"\\u001F\\t\\\\u001f \\"1e10\\" NaN"'),
        ("1.5é", '"1.5é"'),
        (True, "true"),
        (None, "null"),
    ],
)
def test_partitions_and_offsets_are_written_as_jackson_writes_them(value: Primitive | None, text: str) -> None:
    key, offset = StoredOffsets("c").entry(SourcePartition({"p": value}), {"o": value})
    assert key == f'["c",{{"p":{text}}}]'.encode()
    assert offset == f'{{"o":{text}}}'.encode()
