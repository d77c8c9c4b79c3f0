"""Configuration property that every converter of Kafka Connect has."""

from typing import Annotated

from penstock import Config, Importance, prop
from penstock.rules import words

__all__ = ["ConverterConfig"]


class ConverterConfig(Config):
    converter_type: Annotated[str | None, words("key", "value", "header")] = prop(
        "converter.type",
        None,
        doc="How this converter will be used. It is set automatically.",
        importance=Importance.LOW,
    )
