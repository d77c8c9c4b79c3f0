"""Converters for messages that are one number or boolean, in the big-endian format of Kafka's serializers."""

import math
from collections.abc import Sequence
from struct import Struct, error
from typing import Any, ClassVar, Final

from penstock import Converter, DataError, Schema, Type
from penstock.schema import BOOLEAN, FLOAT32, FLOAT64, INT16, INT32, INT64
from penstock_plugins.connect.values import BOUNDS, java_class
from penstock_plugins.converters._base import ConverterConfig

__all__ = [
    "BooleanConverter",
    "DoubleConverter",
    "FloatConverter",
    "IntegerConverter",
    "LongConverter",
    "NumberConverter",
    "ShortConverter",
]

_JAVA: Final = "org.apache.kafka.connect.converters."
_TRUTH: Final = {b"\0": False, b"\1": True}
_BYTES: Final = {truth: data for data, truth in _TRUTH.items()}
_OPTIONAL_BOOLEAN: Final = BOOLEAN.as_optional()


class NumberConverter(Converter):
    """Writes numbers of one Java class, with any schema, and reads messages of exactly their length.

    Attributes:
        word: name of the type in error messages.
        boxed: Java class. A value of another width is rejected, never widened.
        schema: schema of the values that are read, including nulls.
        layout: layout of the bytes.
    """

    Config = ConverterConfig
    word: ClassVar[str]
    boxed: ClassVar[str]
    schema: ClassVar[Schema]
    layout: ClassVar[Struct]

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of the number; None for null.

        Raises:
            DataError: the value is of another class.
        """
        if value is None:
            return None
        value_class = java_class(schema, value)
        if value_class != self.boxed:
            raise DataError(f"Failed to serialize to {self.word} (was class {value_class})")
        try:
            return self.layout.pack(value)
        except OverflowError:  # a float64 beyond the range of float32
            return self.layout.pack(math.copysign(math.inf, value))

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return an optional number and its schema.

        Raises:
            DataError: the message does not have the length of the type.
        """
        if data is None:
            return self.schema, None
        if len(data) != self.layout.size:
            raise DataError(
                f"Failed to deserialize {self.word}: the message has {len(data)} bytes, not {self.layout.size}"
            )
        return self.schema, self.layout.unpack(data)[0]

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        if self._are_plain(schema, set(map(type, values))):
            try:
                return list(map(self.layout.pack, values))
            except (error, OverflowError):
                pass
        return super().from_connect_batch(topic, schema, values)

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        if None in data or set(map(len, data)) != {self.layout.size}:  # type: ignore[arg-type]
            return super().to_connect_batch(topic, data)
        letter = self.layout.format[-1]
        return self.schema, list(Struct(f">{len(data)}{letter}").unpack(b"".join(data)))  # type: ignore[arg-type]

    def _are_plain(self, schema: Schema | None, types: set[type]) -> bool:
        """Return whether values of these Python types are numbers of this class. Does not check their range."""
        kind = self.schema.type
        if kind in BOUNDS:
            agrees = schema.type is kind if schema is not None and schema.type in BOUNDS else kind is Type.INT64
            return agrees and types == {int}
        is_float32 = schema is not None and schema.type is Type.FLOAT32
        return types == {float} and is_float32 is (kind is Type.FLOAT32)


class ShortConverter(NumberConverter):
    """Converter for 16-bit integers."""

    java_names = (_JAVA + "ShortConverter",)
    word, boxed, schema, layout = "short", "java.lang.Short", INT16.as_optional(), Struct(">h")


class IntegerConverter(NumberConverter):
    """Converter for 32-bit integers."""

    java_names = (_JAVA + "IntegerConverter",)
    word, boxed, schema, layout = "integer", "java.lang.Integer", INT32.as_optional(), Struct(">i")


class LongConverter(NumberConverter):
    """Converter for 64-bit integers."""

    java_names = (_JAVA + "LongConverter",)
    word, boxed, schema, layout = "long", "java.lang.Long", INT64.as_optional(), Struct(">q")


class FloatConverter(NumberConverter):
    """Converter for 32-bit floats."""

    java_names = (_JAVA + "FloatConverter",)
    word, boxed, schema, layout = "float", "java.lang.Float", FLOAT32.as_optional(), Struct(">f")


class DoubleConverter(NumberConverter):
    """Converter for 64-bit floats."""

    java_names = (_JAVA + "DoubleConverter",)
    word, boxed, schema, layout = "double", "java.lang.Double", FLOAT64.as_optional(), Struct(">d")


class BooleanConverter(Converter):
    """Messages that are one byte, 1 for true and 0 for false."""

    Config = ConverterConfig
    java_names = (_JAVA + "BooleanConverter",)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return one byte; None for null.

        Raises:
            DataError: the schema or the value is not a boolean.
        """
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.upper()}")
        if value is None:
            return None
        if type(value) is not bool:
            raise DataError(
                f"BooleanConverter is not compatible with objects of type class {java_class(schema, value)}"
            )
        return _BYTES[value]

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return an optional boolean and its schema.

        Raises:
            DataError: the message is neither 0 nor 1.
        """
        if data is None:
            return _OPTIONAL_BOOLEAN, None
        if data not in _TRUTH:
            what = f"has {len(data)} bytes, not 1" if len(data) != 1 else "is neither 0 nor 1"
            raise DataError(f"Failed to deserialize boolean: the message {what}")
        return _OPTIONAL_BOOLEAN, _TRUTH[data]

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        if (schema is None or schema.type is Type.BOOLEAN) and set(map(type, values)) == {bool}:
            return [_BYTES[v] for v in values]
        return super().from_connect_batch(topic, schema, values)

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        try:
            return _OPTIONAL_BOOLEAN, [_TRUTH[d] for d in data]  # type: ignore[index]  # None is not a key either
        except KeyError:
            return super().to_connect_batch(topic, data)
