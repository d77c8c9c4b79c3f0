"""Adapters that present Java plugins as plugins of the Python API."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final

from penstock.connector import Connector
from penstock.errors import ConfigError, ConnectError, Problem, RetriableError
from penstock.offsets import Offset, SourcePartition
from penstock.sink import Sink, SinkConnector, Writer
from penstock.source import PollingSource, SourceConnector
from penstock_model.connect import plugin_chain
from penstock_model.connect.plugin_names import BUILT_INS, ENDINGS, PluginKind, aliases
from penstock_runtime.java_plugins.converters import JavaConverter, JavaConverterConfig, JavaHeaderConverter
from penstock_runtime.java_plugins.group_sinks import GroupMembership
from penstock_runtime.java_plugins.hosts import host
from penstock_runtime.java_plugins.java_class import PREFIX, JavaClass, JavaConfig
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded
from penstock_runtime.java_plugins.running_connector import PlannedConnector, Tasks
from penstock_runtime.java_plugins.sink import JavaSink, JavaWriter
from penstock_runtime.java_plugins.source import JavaSource
from penstock_runtime.java_plugins.steps import JavaPredicate, JavaStepConfig, JavaTransform

__all__ = ["PREFIX", "JavaConnector", "adapter", "class_of"]

_VALIDATE: Final = 60.0  # seconds; Kafka Connect's REST API waits 90
_PLAN: Final = 120.0


class JavaConnector(JavaClass, Connector):
    """Kafka Connect connector from a plugin's jars."""

    def validate(self, config: JavaConfig) -> Iterable[Problem]:
        """Return the errors of the connector's own validation, as `PUT /connector-plugins/<class>/config/validate` does."""
        values = self._call("validate", _VALIDATE, properties=self.properties(config.texts))
        return [Problem(name, message) for name, messages in values for message in messages]

    def task_configs(
        self, config: JavaConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        """Start the connector, return its task configurations, and stop it.

        The first task also receives the connector's configuration, since it runs the connector to watch for changes.
        """
        given = {**self.properties(properties), "tasks.max": str(max_tasks)}
        answers: list[Tasks] = self._call("task_configs", _PLAN, properties=given, max_tasks=max_tasks)
        tasks = [{n: text for n, text in task.items() if text is not None} for task in answers[-1]]
        return [PlannedConnector.of(given, answers).kept_in(tasks[0]), *tasks[1:]] if tasks else []

    def properties(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the properties, including those that Kafka Connect adds, without which connectors fail."""
        converters = {name: _java_converter(texts[name]) for name in plugin_chain.CONVERTERS if name in texts}
        return {**texts, **converters, "name": self.context.connector, "connector.class": self.class_name}

    def _call(self, method: str, timeout: float, **arguments: Any) -> Any:
        place = {"location": self.location, "class": self.class_name}
        what = f"cannot {_DOING[method]} {self.class_name}"
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


class JavaSourceConnector(JavaConnector, SourceConnector):
    """Kafka Connect source connector."""

    kind: ClassVar[str] = "source"
    read_ahead = False

    def exactly_once(self, config: JavaConfig) -> bool:
        """Return whether the connector supports exactly-once delivery (`exactlyOnceSupport`, KIP-618); null means False."""
        return bool(self._call("exactly_once", _VALIDATE, properties=self.properties(config.texts)) == "SUPPORTED")

    def can_define_transaction_boundaries(self, config: JavaConfig) -> bool:
        """Return whether the connector can define transaction boundaries (`canDefineTransactionBoundaries`, KIP-618).

        Raises:
            ConfigError: the connector returns null.
        """
        answer = self._call("transaction_boundaries", _VALIDATE, properties=self.properties(config.texts))
        if answer is None:
            text = (
                "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not "
                "permitted. The connector will be treated as if it cannot define its own transaction boundaries, and "
                "cannot be configured with 'transaction.boundary' set to 'connector'."
            )
            raise ConfigError([Problem("transaction.boundary", text)])
        return bool(answer == "SUPPORTED")

    def is_notified_of_records(self, properties: Mapping[str, str]) -> bool:
        """Return whether its tasks implement `commitRecord`, which takes the metadata of each record written to Kafka."""
        return bool(self._call("is_notified_of_records", _VALIDATE, properties=self.properties(properties)))

    def alter_offsets(self, config: JavaConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Ask the connector to validate the new offsets; return whether it accepts them (`alterOffsets`, KIP-875)."""
        pairs = [[dict(p), None if o is None else dict(o)] for p, o in offsets.items()]
        return bool(self._call("alter_offsets", _PLAN, properties=self.properties(config.texts), offsets=pairs))

    def source(self, config: JavaConfig) -> PollingSource:
        """Return the source of one task, in this process's JVM."""
        return JavaSource(host(), self.location, self.class_name, self.properties(config.texts), self.context)


class JavaSinkConnector(JavaConnector, SinkConnector):
    """Kafka Connect sink connector."""

    kind: ClassVar[str] = "sink"
    single_writer: ClassVar[bool] = True
    buffering: ClassVar[bool] = True
    _sink: JavaSink | None = None

    def validate(self, config: JavaConfig) -> Iterable[Problem]:
        """Reject a connector that needs the worker's own consumer; validate others as any Java connector."""
        if self.class_name == _TABULAR:
            message = (
                f"cannot run {self.class_name}: it needs the worker's own consumer; use its successor, "
                "org.apache.iceberg.connect.IcebergSinkConnector of Apache Iceberg"
            )
            return [Problem("connector.class", message)]
        return super().validate(config)

    def alter_offsets(self, config: JavaConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Ask the connector to validate the new offsets; return whether it accepts them (`alterOffsets`, KIP-875)."""
        positions = [
            [p["kafka_topic"], p["kafka_partition"], None if o is None else o["kafka_offset"]]
            for p, o in offsets.items()
        ]
        given = self.properties(config.texts)
        return bool(self._call("alter_positions", _PLAN, properties=given, positions=positions))

    def sink(self, config: JavaConfig) -> Sink:
        """Return the sink of one task, in this process's JVM."""
        given, context = self.properties(config.texts), self.context
        membership = GroupMembership.of(self.class_name, context.connector, context.task or 0, given)
        self._sink = JavaSink(host(), self.location, self.class_name, given, context, membership)
        return self._sink

    def writer(self, config: JavaConfig) -> Writer:
        """Return the writer that passes records to that sink."""
        if self._sink is None:
            raise ConnectError(f"cannot write to {self.class_name}: it has not been started in this process")
        return JavaWriter(self._sink)


_TABULAR: Final = "io.tabular.iceberg.connect.IcebergSinkConnector"
_DOING: Final = {
    "validate": "validate the configuration of",
    "task_configs": "split into tasks",
    "exactly_once": "determine the exactly-once support of",
    "transaction_boundaries": "determine the transaction boundary support of",
    "is_notified_of_records": "inspect the task class of",
    "alter_offsets": "alter the offsets of",
    "alter_positions": "alter the offsets of",
}


_CONVERTERS: Final[tuple[PluginKind, ...]] = ("converter", "headerConverter")


def _java_converter(name: str) -> str:
    """Return the Java class of a converter alias, since connectors that read the property expect a class."""
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


_ADAPTERS: Final[Mapping[str, tuple[type[Any], type[JavaConfig]]]] = {
    adapter.kind: (adapter, config)
    for adapter, config in (
        (JavaSourceConnector, JavaConfig),
        (JavaSinkConnector, JavaConfig),
        (JavaTransform, JavaStepConfig),
        (JavaPredicate, JavaStepConfig),
        (JavaConverter, JavaConverterConfig),
        (JavaHeaderConverter, JavaConverterConfig),
    )
}
_REFERENCE: Final = re.compile(f"{PREFIX}({'|'.join(_ADAPTERS)}):([^#].*)#([^#]+)")


@cache
def adapter(kind: str, location: str, class_name: str) -> type[Any]:
    """Return the adapter class of a Java plugin.

    Args:
        kind: one of the values of `catalog.KINDS`.
        location: location of the plugin.
        class_name: Java class.
    """
    base, base_config = _ADAPTERS[kind]
    members = {"location": location, "class_name": class_name, "__module__": __name__}
    config = type("Config", (base_config,), {**members, "__annotations__": {}})
    doc = f"Kafka Connect's {class_name}, from {location}."
    names = (class_name,)
    return type(
        class_name.rpartition(".")[2], (base,), {**members, "Config": config, "java_names": names, "__doc__": doc}
    )


def class_of(reference: str) -> type[Any]:
    """Return the class of a reference.

    Raises:
        ConfigError: the reference is malformed.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ConfigError(f"cannot load {reference}: the reference is malformed; write java:<kind>:<location>#<class>")
    return adapter(*match.groups())
