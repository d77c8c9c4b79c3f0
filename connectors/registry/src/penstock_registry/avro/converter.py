"""AvroConverter: Avro with schemas in a registry."""

from collections.abc import Callable, Sequence
from typing import Any

from cachetools import LRUCache

from penstock import Converter, DataError, Fields, Schema
from penstock.fields import row_picker
from penstock_registry import wire
from penstock_registry.avro import names
from penstock_registry.avro.config import AvroConverterConfig
from penstock_registry.avro.from_schema import ANYTHING_JSON, avro_json
from penstock_registry.avro.reader import AvroReader
from penstock_registry.avro.types import AvroType, parse_avro
from penstock_registry.avro.writer import AvroWriter
from penstock_registry.registry import Registry
from penstock_registry.subjects import strategy_named

__all__ = ["AvroConverter"]


class AvroConverter(Converter):
    """Avro with schemas in a registry, in Confluent's format."""

    Config = AvroConverterConfig
    java_names = ("io.confluent.connect.avro.AvroConverter",)

    def configure(self, config: AvroConverterConfig, *, is_key: bool) -> None:
        self._config = config
        self._settings = config.settings
        self._is_key = is_key
        self._strategy = strategy_named(config.key_strategy if is_key else config.value_strategy)
        self._registry = Registry(config, "AVRO")
        self._schemas: LRUCache[Schema | None, tuple[str, AvroType]] = LRUCache(config.cache_size)
        self._writers: LRUCache[tuple[Schema | None, int, str], AvroWriter] = LRUCache(config.cache_size)
        self._readers: LRUCache[tuple[str, int], AvroReader] = LRUCache(config.cache_size)
        self._last: tuple[str, Schema | None, AvroWriter] | None = None

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the message of a value; None for null."""
        if value is None and (schema is None or schema.optional):
            return None
        return self._writer(topic, schema).write(value)

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the schema and the value of a message."""
        if data is None:
            return None, None
        return self._reader(topic, wire.schema_id(data)).read(data)

    def from_connect_batch(
        self, topic: str | list[str], schema: Schema | None, values: Sequence[Any]
    ) -> list[bytes | None]:
        """Convert as `from_connect` does, by columns where the values are structs."""
        if isinstance(topic, list):
            return _grouped(topic, values, lambda each, rows: self.from_connect_batch(each, schema, rows))
        if not isinstance(values, Fields) and None in values:
            return [self.from_connect(topic, schema, value) for value in values]
        return self._writer(topic, schema).write_all(values)

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Schema | None | list[Schema | None], Sequence[Any]]:
        """Convert as `to_connect` does. Messages with one schema become columns."""
        ids = [None if message is None else wire.schema_id(message) for message in data]
        distinct = set(ids)
        if len(distinct) != 1 or None in distinct:
            pairs = _grouped(ids, data, lambda number, messages: self._pairs(topic, number, messages))
            return [schema for schema, _ in pairs], [value for _, value in pairs]
        (number,) = distinct
        return self._reader(topic, number or 0).read_all([message for message in data if message is not None])

    def close(self) -> None:
        """Close the connections to the registry."""
        if hasattr(self, "_registry"):
            self._registry.close()

    def _pairs(self, topic: str, number: int | None, messages: Sequence[Any]) -> list[tuple[Schema | None, Any]]:
        if number is None:
            return [(None, None)] * len(messages)
        schema, values = self._reader(topic, number).read_all(messages)
        return [(None if value is None else schema, value) for value in values]

    def _writer(self, topic: str, schema: Schema | None) -> AvroWriter:
        last = self._last
        if last is not None and last[1] is schema and last[0] == topic and not self._uses_latest:
            return last[2]
        text, of = self._avro(schema)
        subject = self._subject(topic, of)
        if self._uses_latest:
            found = self._registry.latest(subject)
            number, text = found.id, found.text
        else:
            found = None
            number = self._registry.id_of(subject, text)
        key = (schema, number, text)
        writer = self._writers.get(key)
        if writer is None:
            target = of if found is None else parse_avro(found.text, found.references)
            writer = self._writers[key] = AvroWriter(schema, target, number, self._settings)
        self._last = (topic, schema, writer)
        return writer

    @property
    def _uses_latest(self) -> bool:
        config = self._config
        return not config.auto_register and bool(config.use_latest or config.latest_metadata)

    def _avro(self, schema: Schema | None) -> tuple[str, AvroType]:
        known = self._schemas.get(schema)
        if known is None:
            text = ANYTHING_JSON if schema is None else avro_json(schema, self._settings)
            known = self._schemas[schema] = (text, parse_avro(text))
        return known

    def _subject(self, topic: str, of: AvroType) -> str:
        record = of.optional_branch or of
        return self._strategy(topic, self._is_key, record.name if record.kind == "record" else None)

    def _reader(self, topic: str, number: int) -> AvroReader:
        key = (topic, number)
        reader = self._readers.get(key)
        if reader is None:
            found = self._registry.schema(number)
            of = parse_avro(found.text, found.references)
            reader = self._readers[key] = AvroReader(of, self._settings, self._version(topic, number, of))
        return reader

    def _version(self, topic: str, number: int, of: AvroType) -> int | None:
        """Return the version of a schema in its subject; None if it names one, or the subject is unknown."""
        if names.CONNECT_VERSION in of.properties:
            return None
        try:
            subject = self._subject(topic, of)
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
