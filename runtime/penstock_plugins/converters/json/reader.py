"""Reader of messages: one message exactly, many with msgspec if it reads them like Jackson."""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from itertools import repeat
from typing import Any

import msgspec

from penstock import DataError, Fields, Schema, Type
from penstock.fields import row_picker
from penstock_plugins.connect.values import common_schema
from penstock_plugins.converters.json.column_reader import reads_columns, to_connect
from penstock_plugins.converters.json.envelope import open_envelope
from penstock_plugins.converters.json.envelope_split import split, split_same_schema
from penstock_plugins.converters.json.jackson_compat import (
    may_differ,
    may_hold_long_name,
    reads_alike,
    rows_that_may_differ,
)
from penstock_plugins.converters.json.nodes import NodeReader
from penstock_plugins.converters.json.parser import MISSING, parse
from penstock_plugins.converters.json.schema import read_schema
from penstock_plugins.converters.json.schema_check import SchemaShape, shape_of

__all__ = ["JsonReader"]


class JsonReader:
    """Reading half of JsonConverter.

    Args:
        enveloped: messages contain their schema.
        replace_null: a null under a schema with a default is read as the default.
        schema_content: JSON of the schema of all messages, which are then payloads without an envelope. It must be valid
            even if it is not used.
        cache_size: maximum number of cached schemas.

    Raises:
        DataError: `schema_content` is not a schema.
    """

    def __init__(self, *, enveloped: bool, replace_null: bool, schema_content: str | None, cache_size: int) -> None:
        self._enveloped = enveloped
        self._nodes = NodeReader(replace_null=replace_null)
        self._replace_null = replace_null
        self._cache_size = cache_size
        self._known: dict[bytes, tuple[Schema | None, SchemaShape | None]] = {}
        self._decode = msgspec.json.Decoder().decode
        self._decode_node = msgspec.json.Decoder(float_hook=Decimal).decode
        self._fixed: tuple[Schema, SchemaShape | None] | None = None
        if schema_content:
            try:
                node = parse(schema_content.encode("utf-8", "surrogatepass"))
                schema = None if node is MISSING else read_schema(node, self._nodes)
            except DataError as e:
                raise type(e)(f"schema.content is not a schema: {e}") from e
            if schema is not None and enveloped:
                self._fixed = schema, shape_of(schema, replace_null=True)

    def read(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the schema and value of a message, exactly as Kafka Connect reads it.

        Raises:
            DataError: the message cannot be read.
        """
        if data is None:
            return None, None
        node = parse(data)
        if not self._enveloped:
            return None, self._nodes.value(None, node)
        if self._fixed is not None:
            schema: Schema | None = self._fixed[0]
            return schema, self._nodes.value(schema, node)
        schema_node, payload = open_envelope(node)
        schema = read_schema(schema_node, self._nodes)
        return schema, self._nodes.value(schema, payload)

    def read_batch(self, data: Sequence[bytes | None]) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Read as `read` does, for many messages. Return one schema for all, or one for each, and the values."""
        if None in data:
            return self._with_nulls(data)
        return self._batch(data)  # type: ignore[arg-type]  # no None is left

    def _with_nulls(self, data: Sequence[bytes | None]) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Read the messages that are not null in one batch. A null gets no schema."""
        values: list[Any] = [None] * len(data)
        rows = [row for row, message in enumerate(data) if message is not None]
        if not rows:
            return None, values
        schema_or_schemas, present = self._batch([message for message in data if message is not None])
        for row, value in zip(rows, present, strict=True):
            values[row] = value
        if schema_or_schemas is None:
            return None, values
        schemas: list[Schema | None] = [None] * len(data)
        for row, schema in zip(
            rows,
            schema_or_schemas if isinstance(schema_or_schemas, list) else repeat(schema_or_schemas, len(rows)),
            strict=True,
        ):
            schemas[row] = schema
        return schemas, values

    def _batch(self, data: Sequence[bytes]) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        if any(map(may_hold_long_name, data)):
            return self._read_each(data)  # Jackson rejects a field name of that length
        if not self._enveloped:
            return None, self._schemaless(data)
        if self._fixed is not None:
            schema, shape = self._fixed
            return schema, self._columns(schema, shape, data, data)
        return self._envelopes(data)

    def _schemaless(self, data: Sequence[bytes]) -> Sequence[Any]:
        values = self._decode_all(data)
        if values is None:
            return list(map(self._read_schemaless, data))
        fields = Fields.of(values)
        if fields is not None and reads_alike(fields, data):
            return fields
        for i in rows_that_may_differ(data, values):
            values[i] = self.read(data[i])[1]
        return values

    def _read_schemaless(self, message: bytes) -> Any:
        try:
            value = self._decode(message)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self.read(message)[1]
        return self.read(message)[1] if rows_that_may_differ((message,), (value,)) else value

    def _read_each(self, data: Sequence[bytes]) -> tuple[Schema | None | list[Schema | None], list[Any]]:
        pairs = [self.read(message) for message in data]
        return common_schema([s for s, _ in pairs]), [v for _, v in pairs]

    def _envelopes(self, data: Sequence[bytes]) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Read messages that contain their schema, those with the same schema text together."""
        same = split_same_schema(data)
        if same is not None:
            schema, shape = self._schema(same[0])
            return schema, self._columns(schema, shape, same[1], data)
        parts = split(data)
        if parts is None:
            return self._read_each(data)
        rows: dict[bytes, list[int]] = {}
        for row, text in enumerate(parts[0]):
            rows.setdefault(text, []).append(row)
        schemas: list[Schema | None] = [None] * len(data)
        values: list[Any] = [None] * len(data)
        for text, indexes in rows.items():
            schema, shape = self._schema(text)
            pick = row_picker(indexes)
            payload_values = self._columns(schema, shape, pick(parts[1]), pick(data))
            if len(rows) == 1:
                return schema, payload_values
            for row, value in zip(indexes, payload_values, strict=True):
                schemas[row], values[row] = schema, value
        return common_schema(schemas), values

    def _columns(
        self, schema: Schema | None, shape: SchemaShape | None, payloads: Sequence[bytes], messages: Sequence[bytes]
    ) -> Sequence[Any]:
        """Read payloads under one schema. Structs become columns, for the transforms that follow."""
        struct = schema is not None and schema.type is Type.STRUCT
        columns = schema is not None and reads_columns(schema)
        values = self._decode_all(payloads) if schema is None or columns or shape is not None else None
        if schema is not None and columns and values is not None:
            fields = Fields.of(values)
            checked = (
                to_connect(schema, fields, self._nodes)
                if fields is not None and reads_alike(fields, payloads)
                else None
            )
            if checked is not None:
                return checked
        if values is None or not (schema is None or (shape is not None and shape.matches(values))):
            values = list(map(partial(self._payload, schema), payloads, messages))
        else:
            for i in rows_that_may_differ(payloads, values):
                values[i] = self.read(messages[i])[1]
        return (Fields.of(values) or values) if struct else values

    def _decode_all(self, messages: Sequence[bytes]) -> list[Any] | None:
        """Return the values as msgspec reads them; None if it rejects a message."""
        try:
            return list(map(self._decode, messages))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def _payload(self, schema: Schema | None, payload: bytes, message: bytes) -> Any:
        """Read one payload under a known schema. msgspec makes the nodes unless Jackson may read them differently."""
        if not may_differ(payload):
            try:
                node = self._decode_node(payload)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ArithmeticError):
                pass
            else:
                return self._nodes.value(schema, node)
        return self.read(message)[1]

    def _schema(self, text: bytes) -> tuple[Schema | None, SchemaShape | None]:
        known = self._known.get(text)
        if known is None:
            schema = read_schema(parse(text), self._nodes)
            shape = None if schema is None else shape_of(schema, replace_null=True)
            if len(self._known) >= self._cache_size:
                self._known.clear()
            known = self._known[text] = schema, shape
        return known
