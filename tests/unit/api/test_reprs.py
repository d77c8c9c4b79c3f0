"""What a failed assertion prints of records and schemas can be read, and typed into a test."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Record, Schema, Type, schema
from penstock.schema import (
    BYTES,
    DATE,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)

NAMES: dict[str, Any] = {name: getattr(schema, name) for name in schema.__all__}


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (STRING, "STRING"),
        (OPTIONAL_STRING, "OPTIONAL_STRING"),
        (INT64.as_optional(), "Schema(Type.INT64, optional=True)"),
        (Schema(Type.INT64, default=7, doc="How many."), "Schema(Type.INT64, doc='How many.', default=7)"),
        (Schema(Type.STRING, parameters={"a": "b"}), "Schema(Type.STRING, parameters={'a': 'b'})"),
        (DATE, "DATE"),
        (decimal(2, optional=True), "decimal(2, optional=True)"),
        (array_of(STRING, optional=True), "array_of(STRING, optional=True)"),
        (map_of(STRING, array_of(BYTES)), "map_of(STRING, array_of(BYTES))"),
        (
            struct({"id": INT64, "at": TIMESTAMP, "price": decimal(2)}, name="Order", version=3),
            "struct({'id': INT64, 'at': TIMESTAMP, 'price': decimal(2)}, name='Order', version=3)",
        ),
        (struct({}), "struct({})"),
    ],
)
def test_a_schema_is_shown_as_a_plugin_would_write_it(shape: Schema, text: str) -> None:
    assert repr(shape) == text


def test_a_record_shows_what_it_has() -> None:
    record = Record(topic="t", value={"id": 1}, value_schema=struct({"id": INT32}), offset=0)
    assert repr(record) == "Record(topic='t', value={'id': 1}, value_schema=struct({'id': INT32}), offset=0)"


PLAIN = st.builds(
    Schema,
    st.sampled_from([t for t in Type if t not in (Type.ARRAY, Type.MAP, Type.STRUCT)]),
    optional=st.booleans(),
    name=st.sampled_from([None, "x", schema.DATE_NAME, schema.DECIMAL_NAME]),
    version=st.sampled_from([None, 1]),
    doc=st.sampled_from([None, "doc"]),
    parameters=st.sampled_from([None, {"scale": "2"}, {"scale": "two"}, {"scale": "2", "x": "y"}]),
    default=st.sampled_from([None, 0, "", False]),
)
SHAPES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(array_of, inner, optional=st.booleans()),
        st.builds(map_of, inner, inner, optional=st.booleans()),
        st.builds(
            struct,
            st.dictionaries(st.sampled_from(["a", "b", "it's"]), inner),
            name=st.sampled_from([None, "N"]),
            version=st.sampled_from([None, 2]),
            optional=st.booleans(),
        ),
    ),
    max_leaves=6,
)


@given(SHAPES)
def test_what_is_shown_of_any_schema_is_that_schema(shape: Schema) -> None:
    found = eval(repr(shape), dict(NAMES))
    assert found == shape
    assert (found.parameters, found.default) == (shape.parameters, shape.default)
