"""Header converters made of the converters of keys and values: in Java one class is both.

The configuration names the converter, for instance `header.converter: JsonConverter`. Plugin discovery then selects the
class of this module with the same Java class name.
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
    """Converts headers as `converter` converts values, with its configuration. Subclasses set `converter`."""

    converter: ClassVar[type[Converter]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.Config = cls.converter.Config
        cls.java_names = cls.converter.java_names

    def configure(self, config: Any) -> None:
        """Configure the converter. Raises as the converter does."""
        self._converter = self.converter()
        self._converter.configure(config, is_key=False)

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """The header value's bytes, as for the value of a record.

        Raises:
            DataError: the value does not fit its schema or the format.
        """
        return self._converter.from_connect(topic, schema, value)

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """The header, with its value read as the value of a record.

        Raises:
            DataError: the bytes are not in the converter's format.
        """
        schema, value = self._converter.to_connect(topic, data)
        return Header(name, value, schema)


class BooleanHeaders(ConvertedHeaders):
    """Headers in the format of BooleanConverter: `header.converter: BooleanConverter`."""

    converter = BooleanConverter


class ByteArrayHeaders(ConvertedHeaders):
    """Headers in the format of ByteArrayConverter: `header.converter: ByteArrayConverter`."""

    converter = ByteArrayConverter


class DoubleHeaders(ConvertedHeaders):
    """Headers in the format of DoubleConverter: `header.converter: DoubleConverter`."""

    converter = DoubleConverter


class FloatHeaders(ConvertedHeaders):
    """Headers in the format of FloatConverter: `header.converter: FloatConverter`."""

    converter = FloatConverter


class IntegerHeaders(ConvertedHeaders):
    """Headers in the format of IntegerConverter: `header.converter: IntegerConverter`."""

    converter = IntegerConverter


class JsonHeaders(ConvertedHeaders):
    """Headers in the format of JsonConverter: `header.converter: JsonConverter`."""

    converter = JsonConverter


class LongHeaders(ConvertedHeaders):
    """Headers in the format of LongConverter: `header.converter: LongConverter`."""

    converter = LongConverter


class ShortHeaders(ConvertedHeaders):
    """Headers in the format of ShortConverter: `header.converter: ShortConverter`."""

    converter = ShortConverter


class StringHeaders(ConvertedHeaders):
    """Headers in the format of StringConverter: `header.converter: StringConverter`."""

    converter = StringConverter
