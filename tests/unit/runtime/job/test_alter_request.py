"""The JSON of a request to alter offsets (KIP-875) is checked completely before anything is asked or written."""

import json
from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock.offsets import SourcePartition
from penstock.sink import TopicPartition
from penstock_runtime.job.alter_request import read_sink_offsets, read_source_offsets

SINK = {"kafka_topic": "t", "kafka_partition": 0}


def entries(*pairs: Any) -> str:
    return json.dumps({"offsets": [{"partition": p, "offset": o} for p, o in pairs]})


def of_source(document: str) -> list[str]:
    with pytest.raises(ConfigError) as told:
        read_source_offsets(document)
    return [str(p) for p in told.value.problems]


def of_sink(*pairs: Any) -> list[str]:
    with pytest.raises(ConfigError) as told:
        read_sink_offsets(entries(*pairs), "shop.out")
    return [str(p) for p in told.value.problems]


def test_positions_of_a_source_keep_their_types_and_null_removes_one() -> None:
    offset = {"n": 1, "f": 1.0, "t": "é", "b": True, "none": None}
    found = read_source_offsets(entries(({"p": 1}, offset), ({"p": 1.0}, None), ({}, {})))
    assert list(found) == [SourcePartition({"p": 1}), SourcePartition({"p": 1.0}), SourcePartition({})]
    assert list(found.values()) == [offset, None, {}]
    assert type(dict(found[SourcePartition({"p": 1})] or {})["f"]) is float


def test_positions_of_a_sink_are_numbers_by_topic_and_partition() -> None:
    assert read_sink_offsets(entries((SINK, {"kafka_offset": 7})), "out") == {TopicPartition("t", 0): 7}
    assert read_sink_offsets(entries((SINK, None)), "out") == {TopicPartition("t", 0): None}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("", "cannot parse the JSON: Expecting value"),
        ('{"offsets": [', "cannot parse the JSON: Expecting value"),
        ('{"offsets": [{"partition": {"a": NaN}, "offset": null}]}', "cannot parse the JSON: NaN is not a JSON number"),
        ("[" * 100_000, "cannot parse the JSON: it is nested too deeply"),
        ("[]", "}]}, not a list"),
        ("null", "}]}, not null"),
        ("{}", "Partitions / offsets need to be provided for an alter offsets request"),
        ('{"offsets": []}', "Partitions / offsets need to be provided for an alter offsets request"),
        ('{"offsets": null}', "Partitions / offsets need to be provided for an alter offsets request"),
        ('{"offsets": {"partition": {}}}', "must be a list of partitions and offsets, not an object"),
        ('{"offset": []}', "is not a field of a request to alter offsets; the only field is offsets"),
        ('{"offsets": [1], "offsets": [2]}', "the field offsets occurs twice in one object"),
        (
            '{"offsets": [{"partition": {"a": 1}, "offset": {}, "offset": null}]}',
            "the field offset occurs twice in one",
        ),
    ],
)
def test_invalid_request_is_reported(document: str, told: str) -> None:
    (problem,) = of_source(document)
    assert told in problem


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (3, "offsets[0]: must be an object with partition and offset, not a number"),
        (
            {"partition": {}, "offset": {}, "ofset": 1},
            "offsets[0].ofset: is not a field of an entry, which has only partition and offset",
        ),
        ({"offset": {}}, "offsets[0].partition: Partition objects cannot be null"),
        ({"partition": {}}, "offsets[0].offset: is missing; set a position, or null to remove the existing one"),
        ({"partition": [], "offset": {}}, "offsets[0].partition: must be an object, not a list"),
        ({"partition": {}, "offset": "1"}, "offsets[0].offset: must be an object, not a string"),
        (
            {"partition": {"a": {"b": 1}}, "offset": None},
            "offsets[0].partition: Offsets may only contain primitive types as values, but field a contains MAP",
        ),
        (
            {"partition": {}, "offset": {"a": [1]}},
            "offsets[0].offset: Offsets may only contain primitive types as values, but field a contains ARRAY",
        ),
        (
            {"partition": {"a": 2**63}, "offset": None},
            f"offsets[0].partition: field a: {2**63} does not fit into 64 bits",
        ),
        (
            {"partition": {}, "offset": {"a": "\ud800"}},
            "offsets[0].offset: field a: must not contain a lone surrogate",
        ),
    ],
)
def test_wrong_entry_of_a_source_is_reported_with_its_path(entry: Any, told: str) -> None:
    assert of_source(json.dumps({"offsets": [entry]})) == [told]


def test_number_too_large_for_a_float_is_reported() -> None:
    assert of_source('{"offsets": [{"partition": {}, "offset": {"a": 1e999}}]}') == [
        "offsets[0].offset: field a: the number does not fit into a 64-bit floating-point number"
    ]


def test_duplicate_partition_is_reported_for_any_order_of_fields() -> None:
    assert of_source(entries(({"a": 1, "b": 2}, None), ({"b": 2, "a": 1}, {"i": 1}))) == [
        "offsets[1].partition: repeats that of offsets[0]; list each partition once"
    ]


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        (
            (None, None),
            ["The partition for a sink connector offset cannot be null or missing"],
        ),
        (
            ({"kafka_topic": "t"}, {"kafka_offset": 1}),
            ["The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"],
        ),
        (
            (SINK | {"kafka_topic": None}, {"kafka_offset": 1}),
            ["Kafka topic names must be valid strings"],
        ),
        ((SINK | {"kafka_topic": "\ud800"}, {"kafka_offset": 1}), ["Kafka topic names must be valid strings"]),
        (
            (SINK | {"kafka_partition": "x"}, {"kafka_offset": 1}),
            ["Failed to parse the following Kafka partition value in the provided offsets: 'x'. Partition values for"],
        ),
        (
            (SINK | {"kafka_partition": True}, {"kafka_offset": 1}),
            ["Failed to parse the following Kafka partition"],
        ),
        (
            (SINK | {"kafka_partition": -1}, {"kafka_offset": 1}),
            ["Failed to parse the following Kafka partition"],
        ),
        (
            (SINK | {"kafka_partition": 1 << 31}, {"kafka_offset": 1}),
            ["Failed to parse the following Kafka partition"],
        ),
        ((SINK | {"epoch": 1}, {"kafka_offset": 1}), ["'kafka_topic' and 'kafka_partition', and no others: epoch"]),
        (
            (SINK, {"position": 1}),
            ["The offset for a sink connector should either be null or contain the key 'kafka_offset'"],
        ),
        (
            (SINK, {"kafka_offset": "7"}),
            ["Failed to parse the following Kafka offset value in the provided offsets: '7'"],
        ),
        (
            (SINK, {"kafka_offset": 7.0}),
            ["Failed to parse the following Kafka offset value in the provided offsets: '7.0'"],
        ),
        (
            (SINK, {"kafka_offset": None}),
            ["Failed to parse the following Kafka offset value in the provided offsets: 'nu"],
        ),
        ((SINK, {"kafka_offset": 1 << 63}), ["Failed to parse the following Kafka offset value"]),
        ((SINK, {"kafka_offset": -5}), ["Failed to modify offsets for sink connector shop.out: -5 is negative"]),
    ],
)
def test_wrong_entry_of_a_sink_is_reported_in_kafka_connects_words(pair: Any, told: list[str]) -> None:
    problems = of_sink(pair)
    assert len(problems) == len(told)
    for problem, words in zip(problems, told, strict=True):
        assert words in problem


def test_all_errors_are_reported_together_and_excess_ones_are_counted() -> None:
    problems = of_sink((SINK, {"kafka_offset": "x"}), (None, {"kafka_offset": 1}))
    assert [p.partition(":")[0] for p in problems] == ["offsets[0].offset", "offsets[1].partition"]
    problems = of_sink(*((SINK | {"kafka_partition": f"{n}"}, {"kafka_offset": n}) for n in range(1000)))
    assert len(problems) == 21
    assert len(of_source(json.dumps({f"f{n}": n for n in range(1000)}))) == 21
    assert problems[-1] == "and 980 more problems"


def test_problem_is_always_valid_utf_8() -> None:
    text = "".join(of_source('{"offsets": [{"partition": {"\\ud800": []}, "offset": null, "\\udfff": 1}]}'))
    assert "\\ud800" in text
    assert "\\udfff" in text
    text.encode()
