"""Java transforms and predicates as plugins of the Python API. They run in the JVM of this process."""

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.batch import RecordBatch
from penstock.context import PluginContext
from penstock.errors import DataError
from penstock.plugin import Predicate, Transform
from penstock.record import Record
from penstock_runtime.java_plugins.java_class import JavaClass
from penstock_runtime.java_plugins.java_error import exception_of
from penstock_runtime.java_plugins.java_object import CheckedConfig, JavaObject
from penstock_runtime.java_plugins.jvm_metrics import metric_tags
from penstock_runtime.java_plugins.record_reader import RecordReader
from penstock_runtime.java_plugins.record_writer import RecordWriter

__all__ = ["JavaPredicate", "JavaStepConfig", "JavaTransform"]


class JavaStepConfig(CheckedConfig):
    """Properties of a Java transform or predicate."""

    @classmethod
    def added(cls, prefix: str) -> Mapping[str, str]:
        """Return `type`, which Kafka Connect leaves in the properties of the plugin."""
        return {"type": cls.class_name}


class _Object(JavaObject):
    """Transform or predicate, with the schemas exchanged for it."""

    def __init__(self, step: JavaClass, config: JavaStepConfig, context: PluginContext) -> None:
        properties = {**config.texts, **config.added("")}
        super().__init__(step, "make_step", f"{context.place}.type", properties=properties, tags=metric_tags(context))
        self._writer = RecordWriter()
        self.reader = RecordReader()

    def on(self, batch: RecordBatch, method: str) -> Any:
        """Call a method with the records of a batch. Raises as `call`."""
        return self.call(method, method, step=self.number, records=self._writer.message([batch]))


class _JavaStep(JavaClass):
    """Base of Java transforms and predicates."""

    context: PluginContext
    _object: _Object | None = None

    def configure(self, config: JavaStepConfig) -> None:
        """Create and configure the Java object.

        Raises:
            ConfigError: the plugin refuses its properties.
        """
        self._object = _Object(self, config, self.context)

    def close(self) -> None:
        """Close the Java object."""
        if self._object is not None:
            self._object.close("close_step", step=self._object.number)


class JavaTransform(_JavaStep, Transform):
    """Kafka Connect transform from a plugin's jars."""

    kind: ClassVar[str] = "transform"

    def apply(self, record: Record) -> Record | None:
        """Transform one record."""
        made, failed = self.apply_rows(_alone(record))
        if failed:
            raise failed[0]
        return made.record(0) if made.length else None

    def apply_rows(self, batch: RecordBatch) -> tuple[RecordBatch, Mapping[int, Exception]]:
        """Transform each record of a batch separately; return the remaining records and the error of each failed row.

        Raises:
            PluginFailed: the plugin failed as a whole, or the JVM has ended.
        """
        assert self._object is not None
        try:
            rows, columns, errors = self._object.on(batch, "apply")
            left = batch if rows is None else batch.take(rows)
            if columns is not None:
                left = left.replace(**self._object.reader.columns(left.length, columns))
        except DataError as e:
            if batch.length == 1:
                return batch.take(()), {0: e}
            return self._apply_halves(batch)
        return left, {row: exception_of(*thrown, kind=kind) for row, (kind, thrown) in errors}

    def _apply_halves(self, batch: RecordBatch) -> tuple[RecordBatch, Mapping[int, Exception]]:
        half = batch.length // 2
        first, failed = self.apply_rows(batch.take(range(half)))
        second, others = self.apply_rows(batch.take(range(half, batch.length)))
        return RecordBatch.merged(first, second), {**failed, **{half + row: error for row, error in others.items()}}


class JavaPredicate(_JavaStep, Predicate):
    """Kafka Connect predicate from a plugin's jars."""

    kind: ClassVar[str] = "predicate"

    def test(self, record: Record) -> bool:
        """Return whether one record matches."""
        (answer,) = self.test_rows(_alone(record))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def test_rows(self, batch: RecordBatch) -> list[bool | Exception]:
        """Test each record of a batch separately; return the result or the error of each.

        Raises:
            PluginFailed: the plugin failed as a whole, or the JVM has ended.
        """
        assert self._object is not None
        try:
            answers = self._object.on(batch, "test")
        except DataError as e:
            if batch.length == 1:
                return [e]
            half = batch.length // 2
            return [
                *self.test_rows(batch.take(range(half))),
                *self.test_rows(batch.take(range(half, batch.length))),
            ]
        return [a if isinstance(a, bool) else exception_of(*a[1], kind=a[0]) for a in answers]


def _alone(record: Record) -> RecordBatch:
    batch = RecordBatch.of([record])
    if record.original is None:
        return batch
    return batch.replace(original_topic=record.original.topic, original_partition=record.original.partition)
