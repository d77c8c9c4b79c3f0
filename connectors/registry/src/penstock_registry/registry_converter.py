"""Base class of converters for schemas in a registry: it determines the schema of a record, and caches schemas."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from cachetools import LRUCache

from penstock import Converter, DataError, Fields, Schema
from penstock.fields import row_picker
from penstock_registry.call_errors import InvalidSchemaError
from penstock_registry.registry import Found, Registry
from penstock_registry.subjects import Strategy
from penstock_registry.wire import Id, RawHeader, WireFormat

__all__ = ["ConverterConfig", "RegistryConverter", "SchemaReader", "SchemaRegistry", "SchemaWriter"]

Parsed = TypeVar("Parsed")


class ConverterConfig(Protocol):
    """Properties that every converter has."""

    @property
    def cache_size(self) -> int: ...

    @property
    def uses_latest(self) -> bool: ...

    def strategy(self, *, is_key: bool) -> Strategy:
        """Return the strategy that names the subjects of keys or values."""

    def wire_format(self, *, is_key: bool) -> WireFormat:
        """Return the format in which keys or values identify their schema."""


class SchemaRegistry(Protocol):
    """Client of a registry, such as `Registry`."""

    def id_of(self, subject: str, text: str) -> Id: ...

    def latest(self, subject: str) -> Found: ...

    def schema(self, number: Id) -> Found: ...

    def version(self, number: Id, subject: str) -> int | None: ...

    def close(self) -> None: ...


class SchemaWriter(Protocol):
    """Writer of values of one schema, without the prefix of a message."""

    def write(self, value: Any) -> bytes | None:
        """Return the data of a value; None for null."""

    def write_all(self, values: Sequence[Any]) -> Sequence[bytes | None]:
        """Return the data of many values.

        If any value cannot be written, the whole call fails. To find it, call `write` for each value.
        """


class SchemaReader(Protocol):
    """Reader of data with one schema, without the prefix of a message."""

    def read(self, data: bytes) -> tuple[Schema | None, Any]:
        """Return the schema and the value."""

    def read_all(self, data: Sequence[bytes], start: int) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Return the schema, or one schema for each message, and the values of many messages, whose data begins at `start`.

        If any message cannot be read, the whole call fails. To find it, call `read` for each message.
        """


class RegistryConverter(Converter, Generic[Parsed]):
    """Converter for schemas in a registry, in Confluent's wire format.

    Each subclass supports one format. `Parsed` is its type for parsed schemas; each schema is parsed once.
    """

    kind: ClassVar[str]
    """Name of the format in the registry: `AVRO`, `JSON` or `PROTOBUF`."""

    @abstractmethod
    def schema_text(self, schema: Schema | None) -> str:
        """Return the text of the schema to register for values with this schema, or for values without one if it is None."""

    def explicit_text(self, text: str) -> str | None:
        """Return a more explicit form of a schema for a registry that does not recognize it; None if there is none."""
        return None

    @abstractmethod
    def parse(self, text: str, found: Found | None) -> Parsed:
        """Return the parsed form of a schema, which is from the registry if `found` is not None."""

    @abstractmethod
    def record_name(self, parsed: Parsed) -> str | None:
        """Return the name of the record, which strategies can use for its subject; None if it is not a record."""

    @abstractmethod
    def has_version(self, parsed: Parsed) -> bool:
        """Return whether a schema declares its version itself, so that its version in the registry does not matter."""

    @abstractmethod
    def new_writer(self, schema: Schema | None, parsed: Parsed) -> SchemaWriter:
        """Return a writer for values with this schema in Connect, or for values without one if it is None."""

    @abstractmethod
    def new_reader(self, parsed: Parsed, version: int | None) -> SchemaReader:
        """Return a reader for data with a schema that has this version in its subject."""

    def open_registry(self, config: Any) -> SchemaRegistry:
        """Return a client for the registry that the configuration names."""
        return Registry(config, self.kind, guids=self.writes_headers)

    def configure(self, config: ConverterConfig, *, is_key: bool) -> None:
        self._config = config
        self._is_key = is_key
        self._strategy = config.strategy(is_key=is_key)
        self._wire = config.wire_format(is_key=is_key)
        self.reads_headers = self._wire.reads_headers
        self.writes_headers = self._wire.writes_headers
        self._registry = self.open_registry(config)
        self._schemas: LRUCache[Schema | None, tuple[str, Parsed]] = LRUCache(config.cache_size)
        self._writers: LRUCache[tuple[Schema | None, Id, str], SchemaWriter] = LRUCache(config.cache_size)
        self._readers: LRUCache[tuple[str, Id], SchemaReader] = LRUCache(config.cache_size)
        self._last: tuple[str, Schema | None, Id, SchemaWriter] | None = None

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the message of a value; None for null."""
        if value is None and (schema is None or schema.optional):
            return None
        number, writer = self._writer(topic, schema)
        data = writer.write(value)
        return None if data is None else self._wire.prefix(number) + data

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the schema and the value of a message."""
        if data is None:
            return None, None
        number = self._wire.schema_id(data)
        return self._reader(topic, number).read(data[self._wire.prefix_length(number) :])

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        """Convert as `from_connect` does, by columns if the values are structs."""
        if isinstance(topic, list):
            return _grouped(topic, values, lambda each, rows: self.from_connect_batch(each, schema, rows))
        if not isinstance(values, Fields) and None in values:
            return [self.from_connect(topic, schema, value) for value in values]
        number, writer = self._writer(topic, schema)
        prefix = self._wire.prefix(number)
        return [None if data is None else prefix + data for data in writer.write_all(values)]

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Convert as `to_connect` does. Messages with one schema become columns."""
        number = self._only_id(data)
        if number is not None:
            return self._read_all(topic, number, data)  # type: ignore[arg-type]  # none is null
        id_of = self._wire.schema_id
        ids = [None if message is None else id_of(message) for message in data]
        pairs = _grouped(ids, data, lambda number, messages: self._pairs(topic, number, messages))
        return [schema for schema, _ in pairs], [value for _, value in pairs]

    def join_headers(self, data: bytes, headers: Sequence[RawHeader]) -> bytes:
        """Return a message with the id of its schema, which may be in a header."""
        return self._wire.join(data, headers)

    def split_headers(self, data: bytes) -> tuple[bytes, Sequence[RawHeader]]:
        """Return a message without the id of its schema, and the headers that have it."""
        return self._wire.split(data, self.prefix_length(data))

    def prefix_length(self, message: bytes) -> int:
        """Return the number of bytes of a message that a header may have instead: the id, and additions of the format."""
        return self._wire.prefix_length(self._wire.schema_id(message))

    def close(self) -> None:
        """Close the connections to the registry."""
        if hasattr(self, "_registry"):
            self._registry.close()

    def _only_id(self, data: Sequence[bytes | None]) -> Id | None:
        """Return the id of the schema that all messages have; None if there is no such id."""
        if not data or data[0] is None:
            return None
        number = self._wire.schema_id(data[0])
        length = self._wire.prefix_length(number)
        try:
            prefixes = list(map(itemgetter(slice(length)), data))  # type: ignore[arg-type]
        except TypeError:  # a message is null
            return None
        return number if prefixes.count(data[0][:length]) == len(data) else None

    def _pairs(self, topic: str, number: Id | None, messages: Sequence[Any]) -> list[tuple[Schema | None, Any]]:
        if number is None:
            return [(None, None)] * len(messages)
        schema, values = self._read_all(topic, number, messages)
        schemas = schema if isinstance(schema, list) else [schema] * len(values)
        reader, skipped = self._reader(topic, number), self._wire.prefix_length(number)
        return [
            (of, value) if value is not None else reader.read(message[skipped:])
            for of, value, message in zip(schemas, values, messages, strict=True)
        ]

    def _read_all(
        self, topic: str, number: Id, messages: Sequence[bytes]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        return self._reader(topic, number).read_all(messages, self._wire.prefix_length(number))

    def _writer(self, topic: str, schema: Schema | None) -> tuple[Id, SchemaWriter]:
        """Return the id of the schema with which a record is written, and the writer."""
        last = self._last
        if last is not None and last[1] is schema and last[0] == topic and not self._config.uses_latest:
            return last[2:]
        text, parsed = self._parsed(schema)
        subject = self._subject(topic, parsed)
        if self._config.uses_latest:
            found = self._registry.latest(subject)
            number, text = found.id, found.text
        else:
            found = None
            number, text, parsed = self._registered(subject, schema, text, parsed)
        key = (schema, number, text)
        writer = self._writers.get(key)
        if writer is None:
            target = parsed if found is None else self.parse(found.text, found)
            writer = self._writers[key] = self.new_writer(schema, target)
        self._last = (topic, schema, number, writer)
        return number, writer

    def _registered(self, subject: str, schema: Schema | None, text: str, parsed: Parsed) -> tuple[Id, str, Parsed]:
        """Return the id of a schema in a subject, with the text and parsed form that the registry accepts."""
        try:
            return self._registry.id_of(subject, text), text, parsed
        except InvalidSchemaError as refused:
            explicit = self.explicit_text(text)
            if explicit is None:
                raise
            try:
                number = self._registry.id_of(subject, explicit)
            except InvalidSchemaError:
                raise refused from None
        self._schemas[schema] = known = (explicit, self.parse(explicit, None))
        return number, *known

    def _parsed(self, schema: Schema | None) -> tuple[str, Parsed]:
        known = self._schemas.get(schema)
        if known is None:
            text = self.schema_text(schema)
            known = self._schemas[schema] = (text, self.parse(text, None))
        return known

    def _subject(self, topic: str, parsed: Parsed) -> str:
        return self._strategy(topic, self._is_key, self.record_name(parsed))

    def _reader(self, topic: str, number: Id) -> SchemaReader:
        key = (topic, number)
        reader = self._readers.get(key)
        if reader is None:
            found = self._registry.schema(number)
            parsed = self.parse(found.text, found)
            reader = self._readers[key] = self.new_reader(parsed, self._version(topic, number, parsed))
        return reader

    def _version(self, topic: str, number: Id, parsed: Parsed) -> int | None:
        """Return the version of a schema in its subject; None if it names one, or the subject is unknown."""
        if self.has_version(parsed):
            return None
        try:
            subject = self._subject(topic, parsed)
        except DataError:
            return None
        return self._registry.version(number, subject)


def _grouped(
    column: Sequence[Any], values: Sequence[Any], work: Callable[[Any, list[Any]], Sequence[Any]]
) -> list[Any]:
    """Call a function once for each distinct entry of a column, and return the results in row order."""
    groups: dict[Any, list[int]] = {}
    for row, entry in enumerate(column):
        groups.setdefault(entry, []).append(row)
    results: list[Any] = [None] * len(column)
    for entry, rows in groups.items():
        for row, result in zip(rows, work(entry, row_picker(rows)(values)), strict=True):
            results[row] = result
    return results
