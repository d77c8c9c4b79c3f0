"""JsonConverter: JSON with an envelope of schema and payload, or without."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import field_validator

from penstock import ConfigError, Converter, DataError, Fields, Importance, Int, Problem, Schema, prop
from penstock_plugins.connect.values import map_present
from penstock_plugins.converters._base import ConverterConfig
from penstock_plugins.converters.json.batch_writer import encode_lines
from penstock_plugins.converters.json.column_writer import ColumnWriter
from penstock_plugins.converters.json.envelope import ENVELOPE_END, EnvelopeWriter
from penstock_plugins.converters.json.reader import JsonReader
from penstock_plugins.converters.json.writer import JsonWriter

__all__ = ["JsonConverter"]


class JsonConverterConfig(ConverterConfig):
    schemas_enable: bool = prop(
        "schemas.enable",
        True,
        doc="Include schemas within each of the serialized values and keys.",
        importance=Importance.HIGH,
    )
    schemas_cache_size: Int = prop(
        "schemas.cache.size",
        1000,
        doc="The maximum number of schemas that can be cached in this converter instance.",
        importance=Importance.HIGH,
    )
    decimal_format: str = prop(
        "decimal.format",
        "BASE64",
        doc="Controls which format this converter will serialize decimals in. "
        "This value is case insensitive and can be either 'BASE64' (default) or 'NUMERIC'",
        importance=Importance.LOW,
    )
    replace_null: bool = prop(
        "replace.null.with.default",
        True,
        doc="Whether to replace fields that have a default value and that are null to the default value. "
        "When set to true, the default value is used, otherwise null is used.",
        importance=Importance.LOW,
    )
    schema_content: str | None = prop(
        "schema.content",
        None,
        doc="When set, this is used as the schema for all messages. "
        "Otherwise, the schema should be in the contents of each message.",
        importance=Importance.HIGH,
    )

    @field_validator("decimal_format")
    @classmethod
    def _known(cls, text: str) -> str:
        if text.upper() not in ("BASE64", "NUMERIC"):
            raise ValueError("String must be one of (case insensitive): NUMERIC, BASE64")
        return text.upper()


class JsonConverter(Converter):
    """JSON as Kafka Connect reads and writes it, byte for byte."""

    Config = JsonConverterConfig
    java_names = ("org.apache.kafka.connect.json.JsonConverter",)

    def configure(self, config: JsonConverterConfig, *, is_key: bool) -> None:
        """Configure the converter.

        Raises:
            ConfigError: `schema.content` is not a schema.
        """
        self._enveloped = config.schemas_enable
        cache_size = max(config.schemas_cache_size, 1)
        self._writer = JsonWriter(replace_null=config.replace_null, numeric=config.decimal_format == "NUMERIC")
        self._columns = ColumnWriter(self._writer, replace_null=config.replace_null, cache_size=cache_size)
        self._envelopes = EnvelopeWriter(self._writer, cache_size=cache_size)
        try:
            self._reader = JsonReader(
                enveloped=config.schemas_enable,
                replace_null=config.replace_null,
                schema_content=config.schema_content,
                cache_size=cache_size,
            )
        except DataError as e:
            raise ConfigError(Problem("schema.content", str(e))) from e

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the JSON of a value; None for a null without a schema."""
        if schema is None and value is None:
            return None
        if not self._enveloped:
            return self._writer.write(schema, value).encode()
        start = self._envelopes.start(schema)  # Kafka Connect, too, reports a wrong schema before a wrong value
        return start + self._writer.write(schema, value).encode() + ENVELOPE_END

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the schema and value of a message."""
        return self._reader.read(data)

    def from_connect_batch(
        self,
        topic: str | list[str],
        schema: Schema | None,
        values: Sequence[Any],
    ) -> list[bytes | None]:
        """Convert as `from_connect` does. Values for which msgspec and Jackson agree are written with msgspec."""
        if schema is None and not isinstance(values, Fields) and None in values:
            return map_present(partial(self._messages, None), values)
        return list(self._messages(schema, values))

    def to_connect_batch(
        self,
        topic: str,
        data: Sequence[bytes | None],
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Convert as `to_connect` does. Messages for which msgspec and Jackson agree are read with msgspec."""
        return self._reader.read_batch(data)

    def _messages(self, schema: Schema | None, values: Sequence[Any]) -> list[bytes]:
        def exactly(i: int) -> bytes:
            return self._writer.write(schema, values[i]).encode()

        lines = encode_lines(self._columns.objects(schema, values), exactly)
        if lines is None:
            lines = [exactly(i) for i in range(len(values))]
        if self._enveloped:
            start = self._envelopes.start(schema)
            return [b"".join((start, line, ENVELOPE_END)) for line in lines]  # a start of kilobytes is copied only once
        return lines
