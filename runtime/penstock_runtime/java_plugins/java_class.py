"""Base of the adapters of all Java plugins: the class, its reference and its configuration."""

from collections.abc import Mapping
from functools import cache
from typing import ClassVar, Final, Self

from penstock.config import Config, Property
from penstock_runtime.java_plugins.catalog import properties_of

__all__ = ["PREFIX", "JavaClass", "JavaConfig"]

PREFIX: Final = "java:"
"""Prefix of references to Java classes: `java:<kind>:<location>#<class>`."""


class JavaClass:
    """Plugin implemented by a Java class.

    Attributes:
        kind: one of the values of `catalog.KINDS`.
        location: location of the plugin: a folder with jars, or a jar.
        class_name: Java class.
    """

    kind: ClassVar[str]
    location: ClassVar[str]
    class_name: ClassVar[str]

    @classmethod
    def reference(cls) -> str:
        """Return the reference from which another process loads this class."""
        return f"{PREFIX}{cls.kind}:{cls.location}#{cls.class_name}"


class JavaConfig(Config):
    """Properties of a Java plugin. Any property is accepted, as in Kafka Connect; Java reads and validates them."""

    open_prefixes = ("",)
    location: ClassVar[str]
    class_name: ClassVar[str]

    @property
    def texts(self) -> dict[str, str]:
        """All properties."""
        return self.open_properties("")

    @classmethod
    def properties(cls) -> tuple[Property, ...]:
        """Return the plugin's own configuration definition."""
        return _properties(cls.location, cls.class_name)

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Keep the values unparsed, since Java reads them."""
        config = cls()
        config._keep_open(texts)
        return config


@cache
def _properties(location: str, class_name: str) -> tuple[Property, ...]:
    return properties_of(location, class_name)
