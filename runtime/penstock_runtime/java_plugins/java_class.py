"""What adapters of all Java plugins share: the class, its reference and its configuration."""

from collections.abc import Mapping
from functools import cache
from typing import ClassVar, Final, Self

from penstock.config import Config, Property
from penstock_runtime.java_plugins.catalog import properties_of

__all__ = ["PREFIX", "JavaClass", "JavaConfig"]

PREFIX: Final = "java:"
"""How references to Java classes begin: `java:<kind>:<location>#<class>`."""


class JavaClass:
    """A plugin whose class is one of Java.

    Attributes:
        kind: as `catalog.KINDS` has it.
        location: of the plugin: a folder with jars, or a jar.
        class_name: of Java.
    """

    kind: ClassVar[str]
    location: ClassVar[str]
    class_name: ClassVar[str]

    @classmethod
    def reference(cls) -> str:
        """Return the text from which another process loads this class."""
        return f"{PREFIX}{cls.kind}:{cls.location}#{cls.class_name}"


class JavaConfig(Config):
    """The properties of a Java plugin. All belong to it, as in Kafka Connect, and Java reads and validates them."""

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
        """Keep the texts: Java reads them."""
        config = cls()
        config._keep_open(texts)
        return config


@cache
def _properties(location: str, class_name: str) -> tuple[Property, ...]:
    return properties_of(location, class_name)
