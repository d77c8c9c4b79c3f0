"""Envelope of a message that contains its schema: `{"schema":...,"payload":...}`, with only these two fields."""

from typing import Any, Final

from penstock import DataError, Schema
from penstock_plugins.converters.json.schema import schema_json
from penstock_plugins.converters.json.writer import JsonWriter

__all__ = ["ENVELOPE_END", "EnvelopeWriter", "envelope_start", "open_envelope"]

ENVELOPE_END: Final = b"}"
_FIELDS: Final = {"schema", "payload"}
_NOT_AN_ENVELOPE: Final = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)


def open_envelope(node: Any) -> tuple[Any, Any]:
    """Return the nodes of the schema and the payload.

    Raises:
        DataError: the node is not an envelope; with Kafka Connect's message.
    """
    if not isinstance(node, dict) or node.keys() != _FIELDS:
        raise DataError(_NOT_AN_ENVELOPE)
    return node["schema"], node["payload"]


def envelope_start(schema: bytes) -> bytes:
    """Return the text of an envelope up to its payload, as Kafka Connect writes it. `schema` is JSON."""
    return b'{"schema":' + schema + b',"payload":'


class EnvelopeWriter:
    """Writer of the part of envelopes before the payload, once for each schema.

    Args:
        writer: writes defaults.
        cache_size: maximum number of cached schemas.
    """

    def __init__(self, writer: JsonWriter, *, cache_size: int) -> None:
        self._writer = writer
        self._cache_size = cache_size
        self._starts: dict[Schema | None, bytes] = {}

    def start(self, schema: Schema | None) -> bytes:
        """Return the text up to the payload. `ENVELOPE_END` follows the payload.

        Raises:
            DataError: a default does not fit its schema.
        """
        start = self._starts.get(schema)
        if start is None:
            if len(self._starts) >= self._cache_size:
                self._starts.clear()
            start = self._starts[schema] = envelope_start(schema_json(schema, self._writer).encode())
        return start
