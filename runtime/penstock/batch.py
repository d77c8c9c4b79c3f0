"""Record batches stored as columns, which the runtime passes from readers through transforms to sinks.

A record costs a Python object and a dozen attribute look-ups; a column costs one list. Most records share their topic and
schemas, and have no key or headers. A column is therefore either a plain value for all records (never a list) or a list with
one entry per record. `value` and `key` are lists, or None if no record has one. Values that are maps or structs with equal
fields may be stored as one column per field (`fields`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, Final, Self, TypeVar

from penstock._common_schema import common_schema
from penstock._unread import UnreadHeaders, UnreadTimestamps
from penstock.fields import Fields, row_picker
from penstock.record import Header, Original, Record
from penstock.schema import Schema

__all__ = ["RecordBatch", "in_groups"]

_T = TypeVar("_T")
_R = TypeVar("_R")
_PLAIN: Final = ("topic", "partition", "key", "key_schema", "value_schema", "timestamp", "timestamp_type", "offset")
_COLUMNS: Final = (*_PLAIN, "headers")
_OTHERS: Final = ("length", "original_partition", "original_topic", "owned", "positions")
_COPIED: Final = (*(name for name in _PLAIN if name != "timestamp"), *_OTHERS)


class RecordBatch:
    """Columns of equal length.

    Attributes:
        topic: a string, or a list of strings. None only for a record without a topic, which Kafka Connect allows.
        partition: None (the partitioner chooses), a number, or a list.
        key, value: a list of values, or None if no record has one.
        fields: the same values as one column per field, if stored in that form, else None. Reading `value` converts them to
            dicts; an owned batch then keeps only the dicts, because they may be modified in place.
        key_schema, value_schema: the schema of all records (None for no schema), or a list.
        headers: `()` if no record has headers, else a list of tuples of `Header`. Headers of sink records may be converted
            only when this attribute is read; `has_header`, `with_header` and `without_headers` do not need their values.
        timestamp: milliseconds, None, or a list. Those of sink records may be computed only when this attribute is read.
        timestamp_type: `CreateTime`, `LogAppendTime` or `NoTimestampType`, or a list, for sink records; else None.
        offset: the Kafka offsets of sink records in ascending order, or None.
        positions: the position of each row in the batch that was read; dropped rows leave gaps.
        owned: whether the containers in `value` belong only to this batch, so that a transform may modify them in place (the
            dicts and lists themselves, not the values inside them).
        original_topic, original_partition: the partition that sink records were consumed from (KIP-793); see also `offset`.
    """

    __slots__ = (*_COPIED, "held_headers", "held_timestamp", "_value", "fields")

    fields: Fields | None
    _value: list[Any] | None
    held_headers: tuple[()] | list[tuple[Header, ...]] | UnreadHeaders
    held_timestamp: int | None | list[int | None] | UnreadTimestamps

    def __init__(
        self,
        *,
        length: int,
        topic: str | None | list[str | None],
        value: list[Any] | Fields | None,
        value_schema: Schema | None | list[Schema | None] = None,
        key: list[Any] | None = None,
        key_schema: Schema | None | list[Schema | None] = None,
        headers: tuple[()] | list[tuple[Header, ...]] | UnreadHeaders = (),
        partition: int | None | list[int | None] = None,
        timestamp: int | None | list[int | None] | UnreadTimestamps = None,
        offset: Sequence[int] | None = None,
        positions: Sequence[int] | None = None,
        owned: bool = False,
        original_topic: str | None = None,
        original_partition: int | None = None,
        timestamp_type: str | None | list[str | None] = None,
    ) -> None:
        self.length = length
        self.topic = topic
        self._hold(value)
        self.value_schema = value_schema
        self.key = key
        self.key_schema = key_schema
        self.held_headers = headers
        self.partition = partition
        self.held_timestamp = timestamp
        self.offset = offset
        self.positions: Sequence[int] = range(length) if positions is None else positions
        self.owned = owned
        self.original_topic = original_topic
        self.original_partition = original_partition
        self.timestamp_type = timestamp_type

    def __len__(self) -> int:
        return self.length

    @property
    def value(self) -> list[Any] | None:
        """Return a list of values, or None if no record has one."""
        if self._value is None and self.fields is not None:
            self._value = self.fields.rows()
            if self.owned:  # the dicts may be modified in place, which would leave the columns stale
                self.fields = None
        return self._value

    @property
    def headers(self) -> tuple[()] | list[tuple[Header, ...]]:
        """Return the headers of each record as a list of tuples, or `()` if no record has headers."""
        held = self.held_headers
        return held.rows if isinstance(held, UnreadHeaders) else held

    @property
    def timestamp(self) -> int | None | list[int | None]:
        """Return the timestamp of all records, or a list."""
        held = self.held_timestamp
        return held.rows if isinstance(held, UnreadTimestamps) else held

    @timestamp.setter
    def timestamp(self, timestamp: int | None | list[int | None]) -> None:
        self.held_timestamp = timestamp

    def has_header(self, name: str) -> bool | list[bool]:
        """Return whether each record has a header with this name, or False if no record has headers."""
        if isinstance(self.held_headers, UnreadHeaders):
            return self.held_headers.named(name)
        return (
            [name in [header[0] for header in headers] for headers in self.held_headers] if self.held_headers else False
        )

    def with_header(self, header: Header) -> Self:
        """Return a batch with this header appended to the headers of each record."""
        if isinstance(self.held_headers, UnreadHeaders):
            return self.replace(headers=self.held_headers.having(header))
        added = (header,)
        return self.replace(headers=[headers + added for headers in self.column("headers")])

    def without_headers(self, names: Set[str]) -> Self:
        """Return a batch without headers with these names; the others keep their order."""
        if isinstance(self.held_headers, UnreadHeaders):
            return self.replace(headers=self.held_headers.without(names))
        if not self.held_headers:
            return self
        kept = [tuple([h for h in headers if h[0] not in names]) for headers in self.held_headers]
        return self.replace(headers=kept if any(kept) else ())

    def _hold(self, value: list[Any] | Fields | None) -> None:
        if isinstance(value, Fields):
            if len(value) != self.length:
                raise ValueError(f"cannot create a batch of {self.length} records: the fields have {len(value)} rows")
            self.fields, self._value = value, None
        else:
            self.fields, self._value = None, value

    def replace(self, **columns: Any) -> Self:
        """Return a batch with these attributes changed; other columns are shared, not copied. `value` may be `Fields`."""
        new = object.__new__(type(self))
        for name in _COPIED:
            setattr(new, name, columns[name] if name in columns else getattr(self, name))
        if "value" in columns:
            new._hold(columns["value"])
        else:
            new._value, new.fields = self._value, self.fields
        new.held_headers = columns.get("headers", self.held_headers)
        new.held_timestamp = columns.get("timestamp", self.held_timestamp)
        return new

    def column(self, name: str) -> list[Any]:
        """Return the column with this name as a list with one entry per record, regardless of how it is stored."""
        column = getattr(self, name)
        if name == "offset":
            return [None] * self.length if column is None else list(column)
        return column if isinstance(column, list) else [column] * self.length

    def take(self, rows: Sequence[int]) -> Self:
        """Return a batch of the rows with these indexes, which must be in ascending order."""
        taken = row_picker(rows)
        changes: dict[str, Any] = {"length": len(rows), "positions": taken(self.positions)}
        for name in _PLAIN:
            column = getattr(self, name)
            if isinstance(column, list) or (name == "offset" and column is not None):
                changes[name] = taken(column)
        if isinstance(self.held_headers, UnreadHeaders):
            changes["headers"] = self.held_headers.take(taken)
        elif self.held_headers:
            changes["headers"] = taken(self.held_headers)
        if self.fields is not None:
            changes["value"] = self.fields.take(rows)
        elif self._value is not None:
            changes["value"] = taken(self._value)
        return self.replace(**changes)

    def record(self, row: int) -> Record:
        """Return a row as a record."""

        def cell(column: Any) -> Any:
            return column[row] if isinstance(column, list) else column

        offset = None if self.offset is None else self.offset[row]
        original = None
        if self.original_topic is not None and self.original_partition is not None and offset is not None:
            original = Original(self.original_topic, self.original_partition, offset)
        return Record(
            topic=cell(self.topic),
            partition=cell(self.partition),
            key=cell(self.key),
            key_schema=cell(self.key_schema),
            value=cell(self.value),
            value_schema=cell(self.value_schema),
            headers=cell(self.headers),
            timestamp=cell(self.timestamp),
            timestamp_type=cell(self.timestamp_type),
            offset=offset,
            original=original,
        )

    def records(self) -> Iterator[Record]:
        """Iterate over all rows as records, in order."""
        return map(self.record, range(self.length))

    @classmethod
    def of(
        cls, records: Iterable[Record], *, like: "RecordBatch | None" = None, positions: Sequence[int] | None = None
    ) -> "RecordBatch":
        """Create a batch from records. `like` provides the original topic and partition of sink records."""
        rows = list(records)
        offsets = [r.offset for r in rows]
        return RecordBatch(
            length=len(rows),
            topic=_narrow([r.topic for r in rows]),
            partition=_narrow([r.partition for r in rows]),
            key=_absent([r.key for r in rows]),
            key_schema=common_schema([r.key_schema for r in rows]),
            value=_absent([r.value for r in rows]),
            value_schema=common_schema([r.value_schema for r in rows]),
            headers=[r.headers for r in rows] if any(r.headers for r in rows) else (),
            timestamp=_narrow([r.timestamp for r in rows]),
            timestamp_type=_narrow([r.timestamp_type for r in rows]),
            offset=None if any(o is None for o in offsets) else [o for o in offsets if o is not None],
            positions=positions,
            original_topic=like.original_topic if like else None,
            original_partition=like.original_partition if like else None,
        )

    @staticmethod
    def merged(one: "RecordBatch", other: "RecordBatch") -> "RecordBatch":
        """Merge two batches, ordered by position."""
        if not one.length or not other.length:
            return one if one.length else other
        both = [*one.positions, *other.positions]
        order = sorted(range(len(both)), key=both.__getitem__)
        ordered = row_picker(order)
        changes: dict[str, Any] = {"length": len(both), "positions": ordered(both)}
        names: tuple[str, ...] = _COLUMNS
        if isinstance(one.held_headers, UnreadHeaders):
            unread = one.held_headers.merged(other.held_headers, ordered)
            changes["headers"] = one.headers if unread is None else unread
            names = _COLUMNS if unread is None else _PLAIN
        for name in names:
            a, b = getattr(one, name), getattr(other, name)
            if isinstance(a, (list, range)) or isinstance(b, (list, range)) or (a is not b and a != b):
                changes[name] = ordered(one.column(name) + other.column(name))
        fields = None if one.fields is None or other.fields is None else one.fields.merged(other.fields, order)
        if fields is not None:
            changes["value"] = fields
        elif one.value is not None or other.value is not None:
            changes["value"] = ordered(one.column("value") + other.column("value"))
        return one.replace(**changes, owned=one.owned and other.owned)


def in_groups(
    column: Sequence[_T], work: Callable[[_T, Callable[[Sequence[Any]], list[Any]]], Sequence[_R]]
) -> list[_R]:
    """Call a function once for each distinct object of a column, and return the results in row order.

    Objects are compared by identity. For example, a batch with three schemas is converted in three calls.

    Args:
        column: an object for each row.
        work: a function that takes an object and a function that selects the object's rows from any column, and returns one
            result for each of those rows.
    """
    groups: dict[int, tuple[_T, list[int]]] = {}
    for row, item in enumerate(column):
        groups.setdefault(id(item), (item, []))[1].append(row)
    results: list[Any] = [None] * len(column)
    for item, rows in groups.values():
        for row, result in zip(rows, work(item, row_picker(rows)), strict=True):
            results[row] = result
    return results


def _narrow(column: list[Any]) -> Any:
    """Return a single value if all are equal, else the list; None for an empty list."""
    first = column[0] if column else None
    return first if all(first == c for c in column) else column


def _absent(column: list[Any]) -> list[Any] | None:
    return None if all(c is None for c in column) else column
