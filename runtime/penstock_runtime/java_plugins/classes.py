"""Adapters that present Java connectors as plugins of the Python API."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final, Self

from penstock.config import Config, Property
from penstock.errors import ConfigError, ConnectError, Problem, RetriableError
from penstock.offsets import Offset, SourcePartition
from penstock.source import PollingSource, SourceConnector
from penstock_model.connect import plugin_chain
from penstock_model.connect.plugin_names import BUILT_INS, ENDINGS, PluginKind, aliases
from penstock_runtime.java_plugins.catalog import properties_of
from penstock_runtime.java_plugins.hosts import host
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded
from penstock_runtime.java_plugins.source import JavaSource

__all__ = ["PREFIX", "JavaConfig", "JavaSourceConnector", "class_of", "connector_class"]

PREFIX: Final = "java:"
"""How references to Java classes begin: `java:<location>#<class>`."""
_VALIDATE: Final = 60.0  # seconds; Kafka Connect's REST API waits 90
_PLAN: Final = 120.0


class JavaConfig(Config):
    """The properties of a Java connector. All belong to it, as in Kafka Connect, and Java reads and validates them."""

    open_prefixes = ("",)
    location: ClassVar[str]
    class_name: ClassVar[str]

    @property
    def texts(self) -> dict[str, str]:
        """All properties."""
        return self.open_properties("")

    @classmethod
    def properties(cls) -> tuple[Property, ...]:
        """The connector's own configuration definition."""
        return _properties(cls.location, cls.class_name)

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Keep the texts: `Connector.validate` reads them."""
        config = cls()
        config._keep_open(texts)
        return config


class JavaSourceConnector(SourceConnector):
    """A source connector of Kafka Connect, from the jars of its plugin."""

    read_ahead = False
    location: ClassVar[str]
    class_name: ClassVar[str]

    @classmethod
    def reference(cls) -> str:
        """Return the text from which another process loads this class."""
        return f"{PREFIX}{cls.location}#{cls.class_name}"

    def validate(self, config: JavaConfig) -> Iterable[Problem]:
        """Return what the connector's own validation refuses, as `PUT /connector-plugins/<class>/config/validate`."""
        values = self._call("validate", _VALIDATE, properties=self.properties(config.texts))
        return [Problem(name, message) for name, messages in values for message in messages]

    def task_configs(
        self, config: JavaConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        """Return what the connector splits itself into; it is started and stopped for that."""
        given = {**self.properties(properties), "tasks.max": str(max_tasks)}
        tasks: list[dict[str, str | None]] = self._call("task_configs", _PLAN, properties=given, max_tasks=max_tasks)
        return [{n: text for n, text in task.items() if text is not None} for task in tasks]

    def exactly_once(self, config: JavaConfig) -> bool:
        """Whether the connector says so (`exactlyOnceSupport`, KIP-618). One that says nothing counts as one that cannot."""
        return bool(self._call("exactly_once", _VALIDATE, properties=self.properties(config.texts)) == "SUPPORTED")

    def alter_offsets(self, config: JavaConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Ask the connector (`alterOffsets`, KIP-875)."""
        pairs = [[dict(p), None if o is None else dict(o)] for p, o in offsets.items()]
        return bool(self._call("alter_offsets", _PLAN, properties=self.properties(config.texts), offsets=pairs))

    def source(self, config: JavaConfig) -> PollingSource:
        """Return the source of one task, in this process's JVM."""
        return JavaSource(host(), self.location, self.class_name, self.properties(config.texts))

    def properties(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with those that Kafka Connect adds: connectors fail without them."""
        converters = {name: _java_converter(texts[name]) for name in plugin_chain.CONVERTERS if name in texts}
        return {**texts, **converters, "name": self.context.connector, "connector.class": self.class_name}

    def _call(self, method: str, timeout: float, **arguments: Any) -> Any:
        place = {"location": self.location, "class": self.class_name}
        what = f"cannot {_ASKED[method]} {self.class_name}"
        try:
            return host().call(method, timeout, **place, **arguments)
        except JavaError as e:
            if e.kind == "unsupported":
                raise NotImplementedError(e.text) from None
            if e.kind == "retriable":
                raise RetriableError(f"{what}: {e.text}") from None
            raise ConnectError(f"{what}: {e.text}") from None
        except JvmEnded as e:
            raise e.during(what) from None


_ASKED: Final = {
    "validate": "validate the configuration of",
    "task_configs": "split into tasks",
    "exactly_once": "ask for the exactly-once support of",
    "alter_offsets": "alter the offsets of",
}


_CONVERTERS: Final[tuple[PluginKind, ...]] = ("converter", "headerConverter")


def _java_converter(name: str) -> str:
    """Return the Java class of a converter that is named by an alias: a connector that looks knows classes alone."""
    return next(
        (
            java
            for kind in _CONVERTERS
            for alias, names in BUILT_INS[kind].items()
            for java in names
            if alias in aliases(name, ENDINGS[kind])
        ),
        name,
    )


@cache
def connector_class(location: str, class_name: str) -> type[JavaSourceConnector]:
    """Return the adapter class of a Java source connector."""
    members = {"location": location, "class_name": class_name, "__module__": __name__}
    config = type("Config", (JavaConfig,), {**members, "__annotations__": {}})
    doc = f"Kafka Connect's {class_name}, from {location}."
    return type(class_name.rpartition(".")[2], (JavaSourceConnector,), {**members, "Config": config, "__doc__": doc})


def class_of(reference: str) -> type[JavaSourceConnector]:
    """Return the class of a reference.

    Raises:
        ConfigError: the reference is malformed.
    """
    location, separator, class_name = reference.removeprefix(PREFIX).partition("#")
    if not (reference.startswith(PREFIX) and separator and location and class_name):
        raise ConfigError(f"cannot load {reference}: write java:<location>#<class>")
    return connector_class(location, class_name)


@cache
def _properties(location: str, class_name: str) -> tuple[Property, ...]:
    return properties_of(location, class_name)
