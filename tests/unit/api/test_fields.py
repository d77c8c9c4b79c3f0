"""Rows of the same fields held as columns."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Fields, Int8, RecordBatch, Same


def held(rows: list[Any]) -> Fields:
    found = Fields.of(rows)
    assert found is not None
    return found


class TestOf:
    def test_rows_of_the_same_names_in_the_same_order_become_columns(self) -> None:
        assert held([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]).columns == {"a": [1, 2], "b": ["x", "y"]}

    @pytest.mark.parametrize(
        "rows",
        [
            pytest.param([], id="no rows"),
            pytest.param([{}], id="no fields"),
            pytest.param([{"a": 1}, {"b": 1}], id="other names"),
            pytest.param([{"a": 1, "b": 2}, {"b": 2, "a": 1}], id="another order, which the written bytes would lose"),
            pytest.param([{"a": 1}, None], id="a null"),
            pytest.param([{"a": 1}, ["a"]], id="a list of what looks like the names"),
            pytest.param([{1: 1}], id="a name that is no text"),
            pytest.param(["a", "b"], id="no maps"),
        ],
    )
    def test_values_that_differ_stay_rows(self, rows: list[Any]) -> None:
        assert Fields.of(rows) is None

    def test_rows_that_are_there_are_not_made_again(self) -> None:
        rows = [{"a": 1}]
        assert held(rows).rows() is rows


class TestRows:
    def test_a_column_of_one_value_is_in_every_row(self) -> None:
        fields = Fields({"a": [1, 2], "b": Same([3])}, 2)
        assert list(fields) == [{"a": 1, "b": [3]}, {"a": 2, "b": [3]}]
        assert fields[1] == {"a": 2, "b": [3]}
        assert len(fields) == 2

    def test_rows_may_have_nothing_but_such_columns(self) -> None:
        assert Fields({"b": Same(1)}, 3).rows() == [{"b": 1}] * 3

    def test_a_column_of_another_length_is_refused(self) -> None:
        with pytest.raises(ValueError, match="Column 'a' has 1 values for 2 rows"):
            Fields({"a": [1]}, 2)

    def test_types_are_reported_for_each_column(self) -> None:
        fields = held([{"a": 1, "b": None}, {"a": 1.5, "b": None}])
        more = fields.having({**fields.columns, "c": Same("x")})
        assert more.types("a") == {int, float}
        assert more.types("b") == {type(None)}
        assert more.types("c") == {str}

    def test_types_that_a_converter_knows_are_kept_with_their_columns(self) -> None:
        fields = Fields({"a": [1], "b": ["x"]}, 1, types={"a": frozenset((int,))})
        more = fields.having({"c": fields.columns["a"], "a": ["y"]})
        assert [*fields.types("a"), *fields.types("b")] == [int, str]
        assert [*more.types("c"), *more.types("a")] == [int, str]

    @pytest.mark.parametrize(
        "copied",
        [
            pytest.param(copy.copy, id="copy"),
            pytest.param(copy.deepcopy, id="deepcopy"),
            pytest.param(lambda fields: pickle.loads(pickle.dumps(fields)), id="pickle"),
        ],
    )
    def test_a_copy_has_the_types_of_its_own_columns(self, copied: Callable[[Fields], Fields]) -> None:
        fields = Fields({"a": [1], "b": ["x"], "c": Same(2)}, 1, types={"a": frozenset((Int8,))})
        found = copied(fields.having({"b": fields.columns["b"], "a": fields.columns["a"], "c": fields.columns["c"]}))
        assert found.rows() == [{"b": "x", "a": 1, "c": 2}]
        assert [*found.types("a"), *found.types("b"), *found.types("c")] == [Int8, str, int]


class TestInABatch:
    def test_the_dicts_are_made_when_they_are_looked_at(self) -> None:
        fields = Fields({"a": [1, 2]}, 2)
        batch = RecordBatch(length=2, topic="t", value=fields)
        assert batch.fields is fields
        assert batch.value == [{"a": 1}, {"a": 2}]
        assert batch.record(1).value == {"a": 2}

    def test_values_that_replace_columns_are_what_counts(self) -> None:
        batch = RecordBatch(length=1, topic="t", value=Fields({"a": [1]}, 1))
        assert batch.replace(value=["x"]).fields is None
        assert batch.replace(value=["x"]).value == ["x"]
        assert batch.replace(topic="u").fields is batch.fields

    def test_rows_are_taken_from_every_column(self) -> None:
        batch = RecordBatch(length=3, topic="t", value=Fields({"a": [1, 2, 3], "b": Same(0)}, 3))
        taken = batch.take([0, 2])
        assert taken.fields is not None
        assert taken.value == [{"a": 1, "b": 0}, {"a": 3, "b": 0}]

    def test_batches_of_the_same_fields_are_merged_as_columns(self) -> None:
        fields = Fields({"a": [1, 2, 3], "b": Same("x"), "c": Same(None)}, 3)
        whole = RecordBatch(length=3, topic="t", value=fields, owned=True)
        some = whole.take([1])
        assert some.fields is not None
        masked = some.replace(value=some.fields.having({**some.fields.columns, "b": Same("-")}))
        merged = RecordBatch.merged(whole.take([0, 2]), masked)
        assert merged.fields is not None
        assert merged.fields.columns == {"a": [1, 2, 3], "b": ["x", "-", "x"], "c": Same(None)}
        assert merged.value == [
            {"a": 1, "b": "x", "c": None},
            {"a": 2, "b": "-", "c": None},
            {"a": 3, "b": "x", "c": None},
        ]

    def test_batches_of_other_fields_are_merged_as_rows(self) -> None:
        one = RecordBatch(length=2, topic="t", value=Fields({"a": [1, 3], "b": Same(0)}, 2), positions=[0, 2])
        other = RecordBatch(length=1, topic="t", value=Fields({"b": [0], "a": [2]}, 1), positions=[1])
        merged = RecordBatch.merged(one, other)
        assert merged.fields is None
        assert list(map(list, merged.value or [])) == [["a", "b"], ["b", "a"], ["a", "b"]]

    def test_no_rows_and_one_are_taken_as_well(self) -> None:
        batch = RecordBatch(length=2, topic=["t", "u"], value=Fields({"a": [1, 2]}, 2), offset=range(7, 9))
        assert (batch.take([1]).value, batch.take([1]).offset, batch.take([1]).topic) == ([{"a": 2}], [8], ["u"])
        assert (batch.take(()).length, batch.take(()).positions) == (0, [])

    def test_batches_of_either_form_are_merged(self) -> None:
        one = RecordBatch(length=2, topic="t", value=Fields({"a": [1, 3]}, 2), positions=[0, 2])
        other = RecordBatch(length=1, topic="u", value=["x"], positions=[1])
        merged = RecordBatch.merged(one, other)
        assert merged.value == [{"a": 1}, "x", {"a": 3}]
        assert merged.topic == ["t", "u", "t"]

    def test_a_change_in_place_counts_in_an_owned_batch_whatever_form_it_is_read_in(self) -> None:
        fields = Fields.of([{"a": "x"}, {"a": "y"}])
        batch = RecordBatch(length=2, topic="t", value=fields, owned=True)
        for value in batch.value or ():
            value["a"] = value["a"].upper()
        for found in (batch, batch.replace(topic="u"), batch.take([0, 1])):
            assert found.fields is None
            assert found.value == [{"a": "X"}, {"a": "Y"}]
