"""Header converters made from the converters of keys and values: in Java, one class implements both.

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
    """Header converter that converts as `converter` does, with its configuration. Subclasses set `converter`."""

    converter: ClassVar[type[Converter]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.Config = cls.converter.Config
        cls.java_names = cls.converter.java_names

    def configure(self, config: Any) -> None:
        """Configure the converter. Raises the errors of the converter."""
        self._converter = self.converter()
        self._converter.configure(config, is_key=False)

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the header value's bytes, as for the value of a record.

        Raises:
            DataError: the value does not fit its schema or the format.
        """
        return self._converter.from_connect(topic, schema, value)

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """Return the header, with its value read as the value of a record.

        Raises:
            DataError: the bytes are not in the converter's format.
        """
        schema, value = self._converter.to_connect(topic, data)
        return Header(name, value, schema)


def _headers(of: type[Converter]) -> type[ConvertedHeaders]:
    name = of.__name__
    doc = f"Headers in the format of {name}: `header.converter: {name}`."
    members = {"converter": of, "__module__": __name__, "__doc__": doc}
    return type(name.replace("Converter", "Headers"), (ConvertedHeaders,), members)


BooleanHeaders = _headers(BooleanConverter)
ByteArrayHeaders = _headers(ByteArrayConverter)
DoubleHeaders = _headers(DoubleConverter)
FloatHeaders = _headers(FloatConverter)
IntegerHeaders = _headers(IntegerConverter)
JsonHeaders = _headers(JsonConverter)
LongHeaders = _headers(LongConverter)
ShortHeaders = _headers(ShortConverter)
StringHeaders = _headers(StringConverter)
