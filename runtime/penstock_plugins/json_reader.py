"""Messages to schemas and values: the exact way for one, msgspec for many where it reads what Jackson would."""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final

import msgspec

from penstock import DataError, Fields, Schema, Type
from penstock_plugins.json_doubts import doubtful, is_long, may_differ, surely_alike
from penstock_plugins.json_nodes import NodeReader
from penstock_plugins.json_parser import MISSING, parse
from penstock_plugins.json_schema import read_schema
from penstock_plugins.json_shapes import Shape, shape_of

__all__ = ["JsonReader"]

_NOT_AN_ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    schema: msgspec.Raw
    payload: msgspec.Raw


class JsonReader:
    """The reading half of JsonConverter.

    Args:
        enveloped: messages hold their schema.
        replace_null: a null under a schema with a default is read as the default.
        schema_content: the JSON of the schema of all messages, for bare payloads; must be one even where it is not used.
        cache_size: how many schemas to remember.

    Raises:
        DataError: `schema_content` is no schema.
    """

    def __init__(self, *, enveloped: bool, replace_null: bool, schema_content: str | None, cache_size: int) -> None:
        self._enveloped = enveloped
        self._nodes = NodeReader(replace_null=replace_null)
        self._replace_null = replace_null
        self._cache_size = cache_size
        self._known: dict[bytes, tuple[Schema | None, Shape | None]] = {}
        self._decode = msgspec.json.Decoder().decode
        self._decode_node = msgspec.json.Decoder(float_hook=Decimal).decode
        self._open = msgspec.json.Decoder(_Envelope).decode
        self._fixed: tuple[Schema, Shape | None] | None = None
        if schema_content:
            try:
                node = parse(schema_content.encode("utf-8", "surrogatepass"))
                schema = None if node is MISSING else read_schema(node, self._nodes)
            except DataError as e:
                raise type(e)(f"schema.content is no schema: {e}") from e
            if schema is not None and enveloped:
                self._fixed = schema, shape_of(schema, replace_null=True)

    def read(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """The schema and value of a message, exactly as Kafka Connect reads it.

        Raises:
            DataError: it cannot be read.
        """
        if data is None:
            return None, None
        node = parse(data)
        if not self._enveloped:
            return None, self._nodes.value(None, node)
        if self._fixed is not None:
            schema: Schema | None = self._fixed[0]
            return schema, self._nodes.value(schema, node)
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
            raise DataError(_NOT_AN_ENVELOPE)
        schema = read_schema(node["schema"], self._nodes)
        return schema, self._nodes.value(schema, node["payload"])

    def read_batch(self, data: Sequence[bytes | None]) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """`read` for many messages: their one schema, or one each, and their values."""
        if any(m is not None and is_long(m) for m in data):
            return self._singly(data)  # what is so long may be a field name, which Jackson refuses
        if not self._enveloped:
            return None, self._schemaless(data)
        if self._fixed is not None and None not in data:
            schema, shape = self._fixed
            return schema, _columns(schema, self._under(schema, shape, data, data))
        found, values = self._envelopes(data)
        return found, (_columns(found, values) if isinstance(found, Schema) else values)

    def _schemaless(self, data: Sequence[bytes | None]) -> Sequence[Any]:
        try:
            values = list(map(self._decode, data))  # type: ignore[arg-type]  # None is refused, too
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError):
            return [self._either(message) for message in data]
        fields = Fields.of(values)
        if fields is not None and surely_alike(fields, data):  # type: ignore[arg-type]
            return fields
        for i in doubtful(data, values):
            values[i] = self.read(data[i])[1]
        return values

    def _either(self, message: bytes | None) -> Any:
        if message is None:
            return None
        try:
            value = self._decode(message)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self.read(message)[1]
        return self.read(message)[1] if doubtful((message,), (value,)) else value

    def _singly(self, data: Sequence[bytes | None]) -> tuple[Schema | None | list[Schema | None], list[Any]]:
        pairs = [self.read(message) for message in data]
        return _one([s for s, _ in pairs]), [v for _, v in pairs]

    def _envelopes(self, data: Sequence[bytes | None]) -> tuple[Schema | None | list[Schema | None], list[Any]]:
        """Messages in runs of one schema text, each run at once."""
        schemas: list[Schema | None] = []
        values: list[Any] = []
        try:
            opened = list(map(self._open, data))  # type: ignore[arg-type]
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, RecursionError):
            return self._singly(data)
        texts = [bytes(e.schema) for e in opened]
        start = 0
        while start < len(texts):
            text = texts[start]
            end = len(texts) if texts.count(text) == len(texts) else start + 1
            while end < len(texts) and texts[end] == text:
                end += 1
            schema, shape = self._schema(text)
            run = data[start:end]
            schemas.extend([schema] * len(run))
            values.extend(self._under(schema, shape, [bytes(e.payload) for e in opened[start:end]], run))
            start = end
        return _one(schemas), values

    def _under(
        self, schema: Schema | None, shape: Shape | None, payloads: Sequence[Any], messages: Sequence[bytes | None]
    ) -> list[Any]:
        if schema is None or shape is not None:
            try:
                values = list(map(self._decode, payloads))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                values = []
            if len(values) == len(payloads) and (schema is None or (shape is not None and shape.same(values))):
                for i in doubtful(payloads, values):
                    values[i] = self.read(messages[i])[1]
                return values
        return list(map(partial(self._payload, schema), payloads, messages))

    def _payload(self, schema: Schema | None, payload: bytes, message: bytes | None) -> Any:
        """One value, with the schema that is known by now; msgspec reads its nodes where Jackson reads the same."""
        if not may_differ(payload):
            try:
                node = self._decode_node(payload)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ArithmeticError):
                pass
            else:
                return self._nodes.value(schema, node)
        return self.read(message)[1]

    def _schema(self, text: bytes) -> tuple[Schema | None, Shape | None]:
        found = self._known.get(text)
        if found is None:
            schema = read_schema(parse(text), self._nodes)
            shape = None if schema is None else shape_of(schema, replace_null=True)
            if len(self._known) >= self._cache_size:
                self._known.clear()
            found = self._known[text] = schema, shape
        return found


def _columns(schema: Schema, values: list[Any]) -> Sequence[Any]:
    """Structs as columns, for the transforms that follow."""
    return (Fields.of(values) or values) if schema.type is Type.STRUCT else values


def _one(schemas: list[Schema | None]) -> Schema | None | list[Schema | None]:
    first = schemas[0] if schemas else None
    return first if all(s is first for s in schemas) else schemas
