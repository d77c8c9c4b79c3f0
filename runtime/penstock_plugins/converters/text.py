"""StringConverter and ByteArrayConverter: messages of plain text or plain bytes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from penstock import Converter, DataError, Fields, Importance, Schema, Type, prop
from penstock.schema import OPTIONAL_BYTES, OPTIONAL_STRING
from penstock_plugins.connect import text
from penstock_plugins.connect.values import java_class, map_present
from penstock_plugins.converters._base import ConverterConfig
from penstock_plugins.converters._charsets import Charset

__all__ = ["ByteArrayConverter", "StringConverter"]


def _override(name: str, what: str) -> Any:
    return prop(
        name, None, doc=f"{what}; overrides converter.encoding, as in Kafka's clients.", importance=Importance.LOW
    )


class StringConverterConfig(ConverterConfig):
    encoding: str = prop(
        "converter.encoding",
        "UTF-8",
        doc="The name of the Java character set to use for encoding strings as byte arrays.",
        importance=Importance.HIGH,
    )
    key_serializer: str | None = _override("key.serializer.encoding", "Character set for writing keys")
    value_serializer: str | None = _override("value.serializer.encoding", "Character set for writing values")
    key_deserializer: str | None = _override("key.deserializer.encoding", "Character set for reading keys")
    value_deserializer: str | None = _override("value.deserializer.encoding", "Character set for reading values")


class StringConverter(Converter):
    """Writes the Java text of any value; reads every message as an optional string."""

    Config = StringConverterConfig
    java_names = ("org.apache.kafka.connect.storage.StringConverter",)

    def configure(self, config: StringConverterConfig, *, is_key: bool) -> None:
        """Configure the converter.

        Raises:
            ConfigError: an encoding is not supported.
        """
        writing = config.key_serializer if is_key else config.value_serializer
        reading = config.key_deserializer if is_key else config.value_deserializer
        self._writing = Charset(config.encoding if writing is None else writing)
        self._reading = Charset(config.encoding if reading is None else reading)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of the value's Java text; None for null. Characters that the encoding lacks become `?`."""
        return None if value is None else self._writing.encode(text.java_text(schema, value))

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return an optional string and its schema; malformed bytes become U+FFFD."""
        return OPTIONAL_STRING, None if data is None else self._reading.decode(data)

    def from_connect_batch(
        self,
        topic: str | list[str],
        schema: Schema | None,
        values: Sequence[Any],
    ) -> list[bytes | None]:
        if not isinstance(values, Fields) and None in values:
            return map_present(partial(self._encoded, schema), values)
        return list(self._encoded(schema, values))

    def to_connect_batch(
        self,
        topic: str,
        data: Sequence[bytes | None],
    ) -> tuple[Schema | None | list[Schema | None], list[Any]]:
        if self._reading.codec == "utf-8" and None not in data:
            try:
                return OPTIONAL_STRING, list(map(bytes.decode, data))  # type: ignore[arg-type]
            except UnicodeDecodeError:
                pass
        decode = self._reading.decode
        return OPTIONAL_STRING, [None if d is None else decode(d) for d in data]

    def _encoded(self, schema: Schema | None, values: Sequence[Any]) -> list[bytes]:
        texts = text.java_texts(schema, values)
        if self._writing.codec == "utf-8":
            try:
                return list(map(str.encode, texts))
            except UnicodeEncodeError:
                pass
        return list(map(self._writing.encode, texts))


class ByteArrayConverter(Converter):
    """Passes bytes through unchanged."""

    Config = ConverterConfig
    java_names = ("org.apache.kafka.connect.converters.ByteArrayConverter",)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the same bytes.

        Raises:
            DataError: the schema or the value is not bytes.
        """
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.upper()}")
        if value is not None and not isinstance(value, bytes):
            raise DataError(
                f"ByteArrayConverter is not compatible with objects of type class {java_class(schema, value)}"
            )
        return value

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return optional bytes and their schema."""
        return OPTIONAL_BYTES, data

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        if (schema is None or schema.type is Type.BYTES) and set(map(type, values)) <= {bytes, type(None)}:
            return list(values)
        return super().from_connect_batch(topic, schema, values)

    def to_connect_batch(
        self,
        topic: str,
        data: Sequence[bytes | None],
    ) -> tuple[Schema | None | list[Schema | None], list[Any]]:
        return OPTIONAL_BYTES, list(data)
