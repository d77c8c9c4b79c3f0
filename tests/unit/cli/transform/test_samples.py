"""Sample records as people type them."""

import json
import math
from typing import Any

import pytest

from penstock import Header, Original, Record
from penstock.schema import INT32, STRING, struct
from penstock_runtime.trial.samples import Reader, Sample, Schemas

STRING_HI = {"schema": {"type": "string"}, "payload": "hi"}


def read(text: str, **options: Any) -> list[Sample]:
    return list(Reader(**{"topic": "t", "sink": False, **options}).samples(text.splitlines(keepends=True)))


def only(node: Any, **options: Any) -> Record:
    (sample,) = read(json.dumps(node), **options)
    assert isinstance(sample.read, Record), sample.read
    return sample.read


def refusal(node: Any, **options: Any) -> str:
    (sample,) = read(json.dumps(node), **options)
    assert isinstance(sample.read, str)
    return sample.read


def values(text: str) -> list[Any]:
    return [s.read.value if isinstance(s.read, Record) else None for s in read(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n2\n", [1, 2]),
        ("\n 1\n\n2", [1, 2]),
        ("[1, [2]]", [1, [2]]),
        ("[\n 1,\n 2\n]\n", [1, 2]),
        ('{"value":\n 1}\n{"value": 2}', [1, 2]),
        ('1\n[2, 3]\n{"value": [4]}', [1, [2, 3], [4]]),
        ("", []),
        ("[]", []),
        ("\ufeff1\n2", [1, 2]),
    ],
)
def test_records_are_lines_or_an_array_or_json_over_several_lines(text: str, expected: list[Any]) -> None:
    assert values(text) == expected


def test_a_line_that_is_no_json_hides_no_other() -> None:
    found = read('1\n{"a\n3\n')
    assert [s.place for s in found] == ["line 1", "line 2", "line 3"]
    assert [isinstance(s.read, Record) for s in found] == [True, False, True]
    assert [isinstance(s.read, Record) for s in read('{"a\n2\n')] == [False, True]


def test_text_that_is_no_json_at_all_is_reported_once() -> None:
    (found,) = read("{a:\nb}\n")
    assert "this is not JSON" in str(found.read)


def test_lines_are_read_as_they_come() -> None:
    def source() -> Any:
        yield "1\n"
        raise AssertionError("the first record should be there before the second is asked for")

    assert next(iter(Reader("t", sink=False).samples(source()))).number == 1


def test_an_object_of_a_records_parts_is_a_record() -> None:
    node = {"topic": "o", "key": "k", "value": {"a": 1}, "headers": {"h": True}, "timestamp": 5, "partition": 2}
    headers = (Header("h", True),)
    assert only(node) == Record(topic="o", key="k", value={"a": 1}, headers=headers, timestamp=5, partition=2)
    assert only({"topic": "o"}).value is None


@pytest.mark.parametrize("node", [None, 5, "x", [1], {}, {"id": 1}, {"id": 1, "timestamp": 3}])
def test_any_other_json_is_only_a_value(node: Any) -> None:
    assert only([node]) == Record(topic="t", value=node)


def test_names_of_a_record_can_be_fields_of_a_value() -> None:
    assert only({"key": 1, "value": 2}, bare=True).value == {"key": 1, "value": 2}


def test_a_mistyped_part_is_refused_with_what_was_meant() -> None:
    assert "did you mean topic?" in refusal({"value": 1, "topik": "x"})
    assert "--values" in refusal({"value": 1, "amount": 3})


def test_a_key_or_value_in_an_envelope_has_its_schema() -> None:
    found = only(
        {
            "key": STRING_HI,
            "value": {
                "schema": {"type": "struct", "optional": False, "fields": [{"field": "n", "type": "int32"}]},
                "payload": {"n": 1},
            },
            "headers": {"h": STRING_HI},
        }
    )
    assert (found.key_schema, found.value_schema) == (STRING, struct({"n": INT32}))
    assert found.headers == (Header("h", "hi", STRING),)
    assert only(STRING_HI).value_schema == STRING


def test_an_envelope_is_guessed_required_or_never_there() -> None:
    assert only(STRING_HI, schemas=Schemas.NEVER).value == STRING_HI
    assert only(STRING_HI, schemas=Schemas.ALWAYS).value == "hi"
    assert "value: " in refusal({"id": 1}, schemas=Schemas.ALWAYS)
    assert only({"value": None}, schemas=Schemas.ALWAYS).value is None


def test_a_payload_that_does_not_fit_its_schema_is_refused() -> None:
    assert "value: " in refusal({"schema": {"type": "int32"}, "payload": None})


def test_headers_of_one_name_are_a_list() -> None:
    node = {"value": 1, "headers": [{"name": "h", "value": 1}, {"name": "h", "value": None}]}
    assert only(node).headers == (Header("h", 1), Header("h", None))


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ({"topic": 5}, "topic must be a string"),
        ({"timestamp": "now"}, "timestamp must be an integer, milliseconds since 1970"),
        ({"partition": True}, "partition must be an integer"),
        ({"headers": "h"}, "headers must be"),
        ({"headers": [{"nam": "h"}]}, "headers must be"),
        ({"value": 1, "offset": 3}, "offset: records of a source have no offset"),
    ],
)
def test_a_part_of_another_type_is_refused(node: Any, told: str) -> None:
    assert told in refusal(node)


def test_records_of_a_sink_come_from_kafka() -> None:
    found = [s.read for s in read('1\n{"value": 2, "offset": 9, "partition": 3, "timestamp": 4}', sink=True)]
    first = Record(topic="t", value=1, partition=0, offset=0, timestamp=0, original=Original("t", 0, 0))
    second = Record(topic="t", value=2, partition=3, offset=9, timestamp=4, original=Original("t", 3, 9))
    assert found == [first, second]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":00012}', {"a": 12}),
        ('{"a":1} and more', {"a": 1}),
        ('{"a":1e400}', {"a": math.inf}),
        ('{"key": "k", "value": {"a":00012}}', {"a": 12}),
        ('{"a": "x\\"}, {\\u00e9"}', {"a": 'x"}, {\u00e9'}),
    ],
)
def test_json_is_read_as_in_a_task(text: str, value: Any) -> None:
    assert values(text) == [value]


def test_what_a_task_refuses_is_refused() -> None:
    (sample,) = read('{"a": nul}')
    assert str(sample.read).startswith("value: ")
    assert [isinstance(s.read, Record) for s in read('{"headers": {"h": 1e400}}\n{"value": 1 2}')] == [True, False]


def test_two_records_in_a_line_are_two_or_a_mistake_and_never_one() -> None:
    assert values('{"a":1}{"a":2}') == [{"a": 1}, {"a": 2}]
    assert [isinstance(s.read, Record) for s in read('{"a":1}\n{"a":2}{"a":3}')] == [True, False]
