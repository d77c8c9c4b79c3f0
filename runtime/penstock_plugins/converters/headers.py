"""Converters of keys and values in the place of header converters: in Java one class is both.

The configuration names the converter (`header.converter: JsonConverter`, say); the plugin that is found there is the one of
this module that stands in for the same Java class.
"""

from typing import Any, ClassVar

from penstock import Converter, Header, HeaderConverter, Schema
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_plugins.converters.primitive import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from penstock_plugins.converters.text import ByteArrayConverter, StringConverter

__all__ = [
    "BooleanHeaders",
    "ByteArrayHeaders",
    "ConvertedHeaders",
    "DoubleHeaders",
    "FloatHeaders",
    "IntegerHeaders",
    "JsonHeaders",
    "LongHeaders",
    "ShortHeaders",
    "StringHeaders",
]


class ConvertedHeaders(HeaderConverter):
    """Headers converted as `converter` converts values, with its configuration; subclasses name it."""

    converter: ClassVar[type[Converter]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.Config = cls.converter.Config
        cls.java_names = cls.converter.java_names

    def configure(self, config: Any) -> None:
        """Take the parsed `Config` of the converter; raises what that one raises."""
        self._converter = self.converter()
        self._converter.configure(config, is_key=False)

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes that the value of a record would have.

        Raises:
            DataError: the value does not fit its schema, or this format.
        """
        return self._converter.from_connect(topic, schema, value)

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """The header of bytes, read as the value of a record.

        Raises:
            DataError: not this format.
        """
        schema, value = self._converter.to_connect(topic, data)
        return Header(name, value, schema)


class BooleanHeaders(ConvertedHeaders):
    """Headers as BooleanConverter has them; write `header.converter: BooleanConverter`."""

    converter = BooleanConverter


class ByteArrayHeaders(ConvertedHeaders):
    """Headers as ByteArrayConverter has them; write `header.converter: ByteArrayConverter`."""

    converter = ByteArrayConverter


class DoubleHeaders(ConvertedHeaders):
    """Headers as DoubleConverter has them; write `header.converter: DoubleConverter`."""

    converter = DoubleConverter


class FloatHeaders(ConvertedHeaders):
    """Headers as FloatConverter has them; write `header.converter: FloatConverter`."""

    converter = FloatConverter


class IntegerHeaders(ConvertedHeaders):
    """Headers as IntegerConverter has them; write `header.converter: IntegerConverter`."""

    converter = IntegerConverter


class JsonHeaders(ConvertedHeaders):
    """Headers as JsonConverter has them; write `header.converter: JsonConverter`."""

    converter = JsonConverter


class LongHeaders(ConvertedHeaders):
    """Headers as LongConverter has them; write `header.converter: LongConverter`."""

    converter = LongConverter


class ShortHeaders(ConvertedHeaders):
    """Headers as ShortConverter has them; write `header.converter: ShortConverter`."""

    converter = ShortConverter


class StringHeaders(ConvertedHeaders):
    """Headers as StringConverter has them; write `header.converter: StringConverter`."""

    converter = StringConverter
