"""The suite of every converter."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, ClassVar
from urllib.error import HTTPError

import pytest
from connectors.registry.tests.servers import Registry

from penstock import Converter, Float32, Instant, Int8, Schema
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
    TIMESTAMP,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.testing import ConverterSuite
from penstock_registry.apicurio.converter import ApicurioAvroConverter
from penstock_registry.avro.converter import AvroConverter
from penstock_registry.json_schema.converter import JsonSchemaConverter

ROW = struct(
    {
        "id": INT64,
        "small": INT8,
        "ratio": FLOAT32.as_optional(),
        "price": decimal(2).as_optional(),
        "at": TIMESTAMP,
        "tags": array_of(OPTIONAL_STRING),
        "by": map_of(INT32, STRING),
    },
    name="shop.Row",
)
FULL = {
    "id": 2**40, "small": -128, "ratio": 0.5, "price": Decimal("12.34"), "at": Instant(5), "tags": ["a", None],
    "by": {1: "x"},
}  # fmt: skip


TYPED: Sequence[tuple[Schema, Any]] = (
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
    (INT64, True),
    (FLOAT64, 1.5),
    (FLOAT64, 1),
    (DATE, Instant(86_400_000)),
    (DATE, Instant(86_400_001)),
    (decimal(2), Decimal("-1.00")),
    (decimal(2), Decimal(1)),
    (ROW, FULL),
    (ROW, {**FULL, "ratio": None, "price": None, "tags": [], "by": {}}),
    (ROW, {**FULL, "small": 128}),
    (ROW, {**FULL, "id": None}),
    (ROW, {**FULL, "id": 2**63}),
    (ROW, {**FULL, "price": Decimal(1)}),
    (ROW, {}),
    (ROW, "text"),
)
"""Values with a schema, including some that do not fit."""


class RegistrySuite(ConverterSuite):
    first: ClassVar[Any]
    """A schema in the subjects, so that they are of this format, and take any further schema."""

    def configured(self, request: Any, *, is_key: bool = False) -> Converter:
        converter = super().configured(request, is_key=is_key)
        request.addfinalizer(converter.close)
        return converter

    @pytest.fixture
    def properties(self, registry: Registry) -> Mapping[str, str]:
        for subject in ("t-key", "t-value"):
            with suppress(HTTPError):
                registry.ask("DELETE", f"/subjects/{subject}")
            registry.register(subject, self.first, kind=self.plugin.kind)
            registry.ask("PUT", f"/config/{subject}", {"compatibility": "NONE"})
        return {"schema.registry.url": registry.url, "value.subject.name.strategy": "TopicNameStrategy"}


class TestAvro(RegistrySuite):
    plugin = AvroConverter
    first: ClassVar[Any] = {"type": "record", "name": "First", "fields": []}
    values = (
        (None, None),
        (None, {"a": [1, 2.5, "x", None, True, b"\0"], "b": {"c": Int8(1), "d": Float32(0.5)}}),
        (None, Decimal(1)),
        (None, 2**70),
        *TYPED,
    )


class TestJsonSchema(RegistrySuite):
    plugin = JsonSchemaConverter
    first: ClassVar[Any] = {"type": "object", "properties": {"first": {"type": "string"}}}
    values = ((None, None), (None, {"a": 1}), *TYPED)


class TestApicurio(TestAvro):
    plugin = ApicurioAvroConverter

    @pytest.fixture
    def properties(self, registry: Registry) -> Mapping[str, str]:
        return {"apicurio.registry.url": registry.own_url, "apicurio.registry.auto-register": "true"}
