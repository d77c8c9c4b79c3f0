"""Java transforms and predicates as plugins of the Python API. They run in the JVM of this process."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from penstock.batch import RecordBatch
from penstock.errors import ConfigError, DataError, Problem
from penstock.plugin import Predicate, Transform
from penstock.record import Record
from penstock_runtime.java_plugins.connection import Connection
from penstock_runtime.java_plugins.hosts import host
from penstock_runtime.java_plugins.java_class import JavaClass, JavaConfig
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded, PluginFailed, exception_of
from penstock_runtime.java_plugins.record_writer import RecordWriter
from penstock_runtime.java_plugins.records import RecordReader
from penstock_runtime.process.liveness import LOOP

__all__ = ["JavaPredicate", "JavaStepConfig", "JavaTransform"]

_CONFIGURE: Final = 60.0  # seconds
_LONGEST: Final = 300.0
"""Seconds for a batch where no loop of a task sets a limit."""


class JavaStepConfig(JavaConfig):
    """The properties of a Java transform or predicate, which its configuration definition checks."""

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Check the texts as Kafka Connect does when it validates a connector.

        Raises:
            ConfigError: properties are missing or wrong; all of them.
        """
        given = {f"{prefix}{name}": text for name, text in cls.complete(texts).items()}
        place = {"location": cls.location, "class": cls.class_name}
        try:
            values = host().call("validate_step", _CONFIGURE, **place, prefix=prefix, properties=given)
        except JavaError as e:
            raise ConfigError(f"cannot validate the configuration of {cls.class_name}: {e.text}") from None
        except JvmEnded as e:
            raise e.during(f"cannot validate the configuration of {cls.class_name}") from None
        problems = [Problem(name, message) for name, messages in values for message in messages]
        if problems:
            raise ConfigError(problems)
        return super().parse(texts, prefix)

    @classmethod
    def complete(cls, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with the one that Kafka Connect leaves among them."""
        return {**texts, "type": cls.class_name}


class _Object:
    """A configured object in the JVM, with the schemas that were exchanged for it."""

    def __init__(self, step: JavaClass, config: JavaStepConfig, type_property: str) -> None:
        self._host = host()
        self._name = step.class_name
        self._writer = RecordWriter()
        self.reader = RecordReader()
        place = {"location": step.location, "class": step.class_name}
        try:
            self._number = self._host.call("make_step", _CONFIGURE, **place, properties=config.complete(config.texts))
        except JavaError as e:
            raise ConfigError(Problem(type_property, f"cannot configure {self._name}: {e.text}")) from None
        except JvmEnded as e:
            raise e.during(f"cannot configure {self._name}") from None

    def call(self, method: str, batch: RecordBatch) -> Any:
        """Call a method with the records of a batch.

        Raises:
            DataError: a value does not fit its schema.
            PluginFailed: it failed as a whole, or does not return, or the JVM has ended.
        """
        records = self._writer.message([batch])
        limit = LOOP.call or _LONGEST
        try:
            return self._host.call(method, limit, step=self._number, records=records)
        except JavaError as e:
            if e.kind == "data":
                raise DataError(e.text) from None
            raise PluginFailed(f"cannot {method} {self._name}: {e.text}") from None
        except JvmEnded as e:
            raise self._ended(method, limit, self._host, e) from None

    def _ended(self, method: str, limit: float, connection: Connection, error: JvmEnded) -> JvmEnded:
        if connection.is_open:
            connection.kill()
            error = JvmEnded(f"its {method}() has not returned within {limit:g} s, so its JVM was killed")
        return error.during(f"cannot {method} {self._name}")

    def close(self) -> None:
        """Close the object."""
        if self._host.is_open:
            self._host.call("close_step", _CONFIGURE, step=self._number)


class JavaTransform(JavaClass, Transform):
    """A transform of Kafka Connect, from the jars of its plugin."""

    kind: ClassVar[str] = "transform"
    _object: _Object | None = None

    def configure(self, config: JavaStepConfig) -> None:
        """Make and configure the Java object.

        Raises:
            ConfigError: it refuses its properties.
        """
        self._object = _Object(self, config, f"{self.context.place}.type")

    def apply(self, record: Record) -> Record | None:
        """Transform one record."""
        made, failed = self.apply_rows(_alone(record))
        if failed:
            raise failed[0]
        return made.record(0) if made.length else None

    def apply_rows(self, batch: RecordBatch) -> tuple[RecordBatch, Mapping[int, Exception]]:
        """Transform each record of a batch by itself, and return those that are left and the error of each row that failed.

        Raises:
            PluginFailed: the plugin failed as a whole, or the JVM has ended.
        """
        assert self._object is not None
        try:
            rows, columns, errors = self._object.call("apply", batch)
        except DataError as e:
            if batch.length == 1:
                return batch.take(()), {0: e}
            return self._apply_halves(batch)
        failed = {row: exception_of(*thrown, kind=kind) for row, (kind, thrown) in errors}
        left = batch if rows is None else batch.take(rows)
        if columns is not None:
            left = left.replace(**self._object.reader.columns(left.length, columns))
        return left, failed

    def _apply_halves(self, batch: RecordBatch) -> tuple[RecordBatch, Mapping[int, Exception]]:
        half = batch.length // 2
        first, failed = self.apply_rows(batch.take(range(half)))
        second, others = self.apply_rows(batch.take(range(half, batch.length)))
        return RecordBatch.merged(first, second), {**failed, **{half + row: error for row, error in others.items()}}

    def close(self) -> None:
        """Close the Java object."""
        if self._object is not None:
            self._object.close()


class JavaPredicate(JavaClass, Predicate):
    """A predicate of Kafka Connect, from the jars of its plugin."""

    kind: ClassVar[str] = "predicate"
    _object: _Object | None = None

    def configure(self, config: JavaStepConfig) -> None:
        """Make and configure the Java object.

        Raises:
            ConfigError: it refuses its properties.
        """
        self._object = _Object(self, config, f"{self.context.place}.type")

    def test(self, record: Record) -> bool:
        """Test one record."""
        (answer,) = self.test_rows(_alone(record))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def test_rows(self, batch: RecordBatch) -> list[bool | Exception]:
        """Test each record of a batch by itself, and return the answer or the error of each.

        Raises:
            PluginFailed: the plugin failed as a whole, or the JVM has ended.
        """
        assert self._object is not None
        try:
            answers = self._object.call("test", batch)
        except DataError as e:
            if batch.length == 1:
                return [e]
            half = batch.length // 2
            return [
                *self.test_rows(batch.take(range(half))),
                *self.test_rows(batch.take(range(half, batch.length))),
            ]
        return [a if isinstance(a, bool) else exception_of(*a[1], kind=a[0]) for a in answers]

    def close(self) -> None:
        """Close the Java object."""
        if self._object is not None:
            self._object.close()


def _alone(record: Record) -> RecordBatch:
    batch = RecordBatch.of([record])
    if record.original is None:
        return batch
    return batch.replace(original_topic=record.original.topic, original_partition=record.original.partition)
