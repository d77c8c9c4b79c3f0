"""Java converters and header converters as plugins of the Python API. They run in the JVM of this process."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from penstock.batch import RecordBatch
from penstock.context import PluginContext
from penstock.errors import DataError
from penstock.fields import Fields
from penstock.plugin import Converter, HeaderConverter
from penstock.record import Header
from penstock.schema import Schema
from penstock_runtime.java_plugins.java_class import JavaClass
from penstock_runtime.java_plugins.java_error import exception_of
from penstock_runtime.java_plugins.java_object import CheckedConfig, JavaObject
from penstock_runtime.java_plugins.jvm_metrics import metric_tags
from penstock_runtime.java_plugins.record_reader import RecordReader
from penstock_runtime.java_plugins.record_writer import RecordWriter
from penstock_runtime.java_plugins.wire import encode

__all__ = ["JavaConverter", "JavaConverterConfig", "JavaHeaderConverter", "RawHeaders", "Read", "Written"]

_DOING: Final = "convert with"
RawHeaders: TypeAlias = Sequence[Sequence[tuple[str, bytes | None]]]
"""Headers of each record, as stored in Kafka."""


class Written(NamedTuple):
    """Result of converting values to bytes.

    Attributes:
        data: bytes, None or an error for each value.
        headers: headers of all records, if the converter has changed those of any; else None.
    """

    data: list[bytes | None | Exception]
    headers: RawHeaders | None


class Read(NamedTuple):
    """Result of converting bytes to values.

    Attributes:
        rows: rows of the messages that the converter could read.
        schema: schema of all values, or a list with one for each.
        values: values of those rows.
        failed: error of each row that the converter could not read.
    """

    rows: Sequence[int]
    schema: Schema | None | list[Schema | None]
    values: list[Any] | Fields
    failed: dict[int, Exception]

    def only(self) -> tuple[Schema | None, Any]:
        """Return the schema and the value of the only message, or raise its error."""
        if self.failed:
            raise self.failed[0]
        return (self.schema[0] if isinstance(self.schema, list) else self.schema), self.values[0]


class JavaConverterConfig(CheckedConfig):
    """Properties of a Java converter or header converter."""

    @classmethod
    def added(cls, prefix: str) -> Mapping[str, str]:
        """Return the type of the converter, which Kafka Connect adds before validation."""
        return {"converter.type": prefix.partition(".")[0]}


class _Object(JavaObject):
    """Converter with the schemas exchanged for it."""

    def __init__(self, converter: JavaClass, config: JavaConverterConfig, context: PluginContext, type_: str) -> None:
        tags = metric_tags(context)
        super().__init__(converter, "make_converter", context.place, type=type_, properties=config.texts, tags=tags)
        self.writer = RecordWriter()
        self.reader = RecordReader()

    def read(self, count: int, answer: Sequence[Any]) -> Read:
        """Return the values from an answer of the plugin host.

        Args:
            count: number of values that were sent.
            answer: the host's answer.
        """
        rows, columns, errors = answer
        failed = {row: exception_of(*thrown, kind=kind) for row, (kind, thrown) in errors}
        left: Sequence[int] = range(count) if rows is None else rows
        if columns is None:
            return Read(left, None, [], failed)
        found = self.reader.columns(len(left), columns)
        values = found["value"]
        return Read(left, found["value_schema"], [None] * len(left) if values is None else values, failed)


class JavaConverter(JavaClass, Converter):
    """Kafka Connect converter from a plugin's jars."""

    kind: ClassVar[str] = "converter"
    _object: _Object | None = None

    def configure(self, config: JavaConverterConfig, *, is_key: bool) -> None:
        """Create and configure the Java object.

        Raises:
            ConfigError: the plugin refuses its properties.
        """
        self._object = _Object(self, config, self.context, "key" if is_key else "value")

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return one value, serialized."""
        (data,), _ = self.from_connect_rows(topic, schema, [value], ())
        if isinstance(data, Exception):
            raise data
        return data

    def from_connect_rows(
        self,
        topic: str | None | list[str | None],
        schema: Schema | None | list[Schema | None],
        values: list[Any] | Fields | None,
        headers: RawHeaders,
        count: int | None = None,
    ) -> Written:
        """Convert each value separately.

        Args:
            topic: topic of all records, or a list with one for each.
            schema: schema of all records, or a list with one for each.
            values: values of the records; None if no record has one.
            headers: headers of each record, which the converter may read and change; empty for none.
            count: number of records, if `values` is None.

        Raises:
            PluginFailed: the plugin failed as a whole, or the JVM has ended.
        """
        given = [tuple(Header(name, content, None) for name, content in of) for of in headers]
        length = count if values is None else len(values)
        assert length is not None
        batch = RecordBatch(length=length, topic=topic, value=values, value_schema=schema, headers=given or ())
        return self._written(batch)

    def _written(self, batch: RecordBatch) -> Written:
        assert self._object is not None
        of = self._object
        try:
            records = of.writer.message([batch])
            answers, headers = of.call("from_connect", _DOING, converter=of.number, records=records)
        except DataError as e:
            if batch.length == 1:
                return Written([e], None)
            half = batch.length // 2
            first, second = (self._written(batch.take(rows)) for rows in (range(half), range(half, batch.length)))
            changed = first.headers is not None or second.headers is not None
            own = [[(h.name, h.value) for h in each] for each in batch.column("headers")] if changed else []
            whole = [*(first.headers or own[:half]), *(second.headers or own[half:])] if changed else None
            return Written([*first.data, *second.data], whole)
        changed_headers = None if headers is None else [[(name, value) for name, value in each] for each in headers]
        return Written([_answer(a) for a in answers], changed_headers)

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the schema and the value of one message."""
        return self.to_connect_rows(topic, [data], None).only()

    def to_connect_rows(self, topic: str, data: Sequence[bytes | None], headers: RawHeaders | None) -> Read:
        """Read each message separately.

        Args:
            topic: topic of all messages.
            data: bytes of each message.
            headers: headers of each message; None for none.

        Raises:
            PluginFailed: the plugin failed as a whole, or the JVM has ended.
        """
        assert self._object is not None
        of = self._object
        message = encode([topic, list(data), headers])
        answer = of.call("to_connect", _DOING, converter=of.number, message=message)
        return of.read(len(data), answer)

    def close(self) -> None:
        """Close the Java object."""
        if self._object is not None:
            self._object.close("close_converter", converter=self._object.number)


class JavaHeaderConverter(JavaClass, HeaderConverter):
    """Kafka Connect header converter from a plugin's jars. Each header is sent to the JVM separately."""

    kind: ClassVar[str] = "headerconverter"
    _object: _Object | None = None

    def configure(self, config: JavaConverterConfig) -> None:
        """Create and configure the Java object.

        Raises:
            ConfigError: the plugin refuses its properties.
        """
        self._object = _Object(self, config, self.context, "header")

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return a header's value, serialized."""
        assert self._object is not None
        of = self._object
        records = of.writer.message([RecordBatch(length=1, topic=topic, value=[value], value_schema=schema)])
        (answer,) = of.call("from_header", _DOING, converter=of.number, name=name, records=records)
        data = _answer(answer)
        if isinstance(data, Exception):
            raise data
        return data

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        """Return the header read from bytes."""
        assert self._object is not None
        of = self._object
        answer = of.call("to_header", _DOING, converter=of.number, topic=topic, name=name, content=data)
        schema, value = of.read(1, answer).only()
        return Header(name, value, schema)

    def close(self) -> None:
        """Close the Java object."""
        if self._object is not None:
            self._object.close("close_converter", converter=self._object.number)


def _answer(answer: Any) -> bytes | None | Exception:
    if answer is None or isinstance(answer, bytes):
        return answer
    kind, thrown = answer
    return exception_of(*thrown, kind=kind)
