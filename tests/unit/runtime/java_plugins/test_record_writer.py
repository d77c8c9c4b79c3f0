"""Record batches become messages; `runtime/java_host` reads them."""

from decimal import Decimal
from typing import Any

import pytest

from penstock.batch import RecordBatch
from penstock.errors import DataError
from penstock.fields import Fields, Same
from penstock.record import Header
from penstock.schema import BYTES, DATE, INT32, INT64, OPTIONAL_STRING, STRING, Schema, Type, struct
from penstock.values import Instant, Int32
from penstock_runtime.java_plugins.record_writer import RecordWriter
from penstock_runtime.java_plugins.wire import decode

LIST, CONSTANT, STRUCT = 0, 1, 2
ORDER = struct({"id": INT64, "note": OPTIONAL_STRING})
KEY, VALUE, HEADERS = 8, 9, 10


def batch(value: Any, schema: Any = None, **more: Any) -> RecordBatch:
    count = len(value)
    return RecordBatch(
        length=count,
        topic="table",
        partition=2,
        value=value,
        value_schema=schema,
        offset=list(range(5, 5 + count)),
        original_topic="t",
        original_partition=2,
        **more,
    )


def written(writer: RecordWriter, *batches: RecordBatch) -> tuple[Any, list[Any]]:
    schemas, content = decode(writer.message(batches))
    return schemas, content


def test_a_batch_says_where_it_was_read_and_what_became_of_it() -> None:
    _, (found,) = written(RecordWriter(), batch(["a", "b"], STRING, timestamp=[7, None], timestamp_type="CreateTime"))
    assert found[:3] == ["t", 2, 2]
    assert found[3:8] == [
        [LIST, [5, 6]],
        [CONSTANT, "table"],
        [CONSTANT, 2],
        [LIST, [7, None]],
        [CONSTANT, "CreateTime"],
    ]
    assert found[KEY] == [[None, None, [CONSTANT, None]]]
    assert found[VALUE] == [[0, None, [LIST, ["a", "b"]]]]
    assert found[HEADERS] is None


def test_a_schema_is_sent_once() -> None:
    writer = RecordWriter()
    assert written(writer, batch(["a"], STRING))[0] == [False, [["string", False, *[None] * 6, [], None]]]
    assert written(writer, batch(["b"], STRING))[0] == [False, []]


def test_structs_are_columns_also_where_some_are_null_or_were_dicts() -> None:
    rows = [{"id": 1, "note": "x"}, None, {"id": 2, "note": None}]
    _, (found,) = written(RecordWriter(), batch(rows, ORDER))
    assert found[VALUE] == [[0, None, [STRUCT, [True, False, True], [[LIST, [1, 2]], [LIST, ["x", None]]]]]]
    _, (found,) = written(RecordWriter(), batch(Fields({"id": [1, 2], "note": Same("y")}, 2), ORDER))
    assert found[VALUE] == [[0, None, [STRUCT, None, [[LIST, [1, 2]], [CONSTANT, "y"]]]]]


def test_records_of_several_schemas_are_groups_with_their_rows() -> None:
    _, (found,) = written(RecordWriter(), batch([1, "a", 2], [INT64, STRING, INT64]))
    assert found[VALUE] == [[0, [0, 2], [LIST, [1, 2]]], [1, [1], [LIST, ["a"]]]]


def test_dates_are_numbers_under_a_schema_and_say_their_type_without_one() -> None:
    _, (found,) = written(RecordWriter(), batch([Instant(5), None], DATE))
    assert found[VALUE] == [[0, None, [LIST, [5, None]]]]
    given = {"at": Instant(5), "n": Int32(1), "price": Decimal("1.50")}
    _, (found,) = written(RecordWriter(), batch([given]))
    (read,) = found[VALUE][0][2][1]
    assert read == given
    assert [type(v) for v in read.values()] == [Instant, Int32, Decimal]
    assert str(read["price"]) == "1.50"


def test_half_of_a_surrogate_pair_passes() -> None:
    _, (found,) = written(RecordWriter(), batch(["a\ud83d", "b"], STRING))
    assert found[VALUE] == [[0, None, [LIST, ["a\ud83d", "b"]]]]


def test_headers_have_their_schemas() -> None:
    headers = [(Header("n", 1, INT32), Header("bare", 2.5)), ()]
    (_, schemas), (found,) = written(RecordWriter(), batch(["a", "b"], STRING, headers=headers))
    assert [schema[0] for schema in schemas] == ["string", "int32"]
    assert found[HEADERS] == [[["n", 1, 1], ["bare", None, 2.5]], []]


def test_a_class_that_the_data_model_lacks_is_reported_without_the_value_and_its_schemas_are_sent_later() -> None:
    writer = RecordWriter()
    with pytest.raises(
        DataError, match=r"cannot pass records of t to the Java plugin: .* does not support the Python type complex"
    ) as caught:
        writer.message([batch([complex(42, 1)], ORDER)])
    assert "42" not in str(caught.value)
    assert len(written(writer, batch([{"id": 1, "note": "x"}], ORDER))[0][1]) == 1


def test_a_schema_keeps_its_number_after_a_message_that_failed_and_a_new_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock_runtime.java_plugins.record_writer._MOST_SCHEMAS", 2)
    writer = RecordWriter()
    with pytest.raises(DataError):
        writer.message([batch([complex(1, 1), "b"], [STRING, INT32])])
    (is_reset, schemas), (found,) = written(writer, batch(["a"], BYTES))
    assert is_reset
    assert [schema[0] for schema in schemas] == ["bytes"]
    assert found[VALUE][0][0] == 0


def test_a_schema_that_cannot_be_encoded_fails_only_its_records() -> None:
    writer = RecordWriter()
    wrong = Schema(Type.INT32, default=object(), optional=True)
    with pytest.raises(DataError):
        writer.message([batch([1], wrong)])
    (_, schemas), _ = written(writer, batch(["a"], STRING))
    assert [schema[0] for schema in schemas] == ["string"]
