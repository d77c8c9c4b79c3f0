"""The suite of every converter, for Protobuf."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from connectors.registry.tests.servers import Registry

from penstock import Converter, Float32, Instant, Schema
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.testing import ConverterSuite
from penstock_registry.protobuf.converter import ProtobufConverter

ROW = struct(
    {
        "id": INT64,
        "small": INT8,
        "ratio": FLOAT32.as_optional(),
        "price": decimal(2).as_optional(),
        "at": TIMESTAMP,
        "tags": array_of(STRING),
        "by": map_of(INT32, STRING),
        "in": struct({"day": DATE, "time": TIME.as_optional()}, name="shop.In", optional=True),
        "note": replace(OPTIONAL_STRING, default="-"),
    },
    name="shop.Row",
)
FULL = {
    "id": 2**40, "small": -128, "ratio": 0.5, "price": Decimal("12.34"), "at": Instant(-1), "tags": ["a", "ü"],
    "by": {1: "x"}, "in": {"day": Instant(-86_400_000), "time": Instant(86_399_999)}, "note": "n",
}  # fmt: skip

SUBJECTS = {"key.subject.name.strategy": "RecordNameStrategy", "value.subject.name.strategy": "RecordNameStrategy"}
"""A subject for each of the schemas, since they are not compatible with each other."""


def values(name: str) -> tuple[tuple[Schema | None, Any], ...]:
    """Return pairs of schema and value, with this name of the struct, which others must not have in its subject."""
    row = replace(ROW, name=name)
    return (
        (None, None),
        (None, {"a": 1}),
        (STRING, "é"),
        (STRING, "\ud800"),
        (STRING, None),
        (STRING, 5),
        (OPTIONAL_STRING, None),
        (BYTES, b"\0\xff"),
        (BOOLEAN, True),
        (BOOLEAN, 1),
        (INT8, 127),
        (INT8, 128),
        (INT64, -(2**63)),
        (INT64, True),
        (FLOAT32, Float32(0.5)),
        (FLOAT64, 1.5),
        (FLOAT64, 1),
        (DATE, Instant(86_400_000)),
        (decimal(2), Decimal("-1.00")),
        (array_of(STRING), ["a"]),
        (row, FULL),
        (row, {**FULL, "ratio": None, "price": None, "tags": [], "by": {}, "in": None, "note": None}),
        (row, {**FULL, "small": 128}),
        (row, {**FULL, "id": None}),
        (row, {**FULL, "id": 2**63}),
        (row, {**FULL, "price": Decimal(1)}),
        (row, {**FULL, "price": Decimal("-1.005")}),
        (row, {**FULL, "at": Instant(2**60)}),
        (row, {**FULL, "tags": ["a", None]}),
        (row, {**FULL, "tags": ["\udfff"]}),
        (row, {**FULL, "in": {"day": Instant(1), "time": None}}),
        (row, {}),
        (row, "text"),
    )


class TestProtobuf(ConverterSuite):
    plugin = ProtobufConverter
    values = values("shop.Plain")
    messages = (
        None,
        b"",
        b"\xff\x00",
        b"{",
        b"text",
        b"1",
        b'{"a":1}',
        b"\0\0\0\0\1",
        b"\0\0\0\0\1\2\xff\xff\xff\xff\xff",
    )

    def configured(self, request: Any, *, is_key: bool = False) -> Converter:
        converter = super().configured(request, is_key=is_key)
        request.addfinalizer(converter.close)
        return converter

    @pytest.fixture
    def properties(self, registry: Registry) -> Mapping[str, str]:
        return {"schema.registry.url": registry.url, **SUBJECTS}


class TestProtobufWithOptionalFields(TestProtobuf):
    values = values("shop.Optional")

    @pytest.fixture
    def properties(self, registry: Registry) -> Mapping[str, str]:
        return {"schema.registry.url": registry.url, "optional.for.nullables": "true", **SUBJECTS}


class TestProtobufWithWrappers(TestProtobuf):
    values = values("shop.Wrapped")

    @pytest.fixture
    def properties(self, registry: Registry) -> Mapping[str, str]:
        return {"schema.registry.url": registry.url, "wrapper.for.nullables": "true", **SUBJECTS}
