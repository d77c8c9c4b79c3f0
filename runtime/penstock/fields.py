"""Maps or structs with equal fields, stored as one column per field.

A batch of a million records with equal fields needs a million dicts. Stored as columns, it needs one list per field, and a
field with the same value in every record needs no list. Converters that detect such a batch return `Fields`, transforms work
on its columns, and converters and sinks write from them. `Fields` is also a sequence of dicts, which are created on first
access.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, overload

__all__ = ["Column", "Fields", "Same", "row_picker"]


class Same(NamedTuple):
    """Column with the same value in every record."""

    value: Any


Column = list[Any] | Same
"""Values of a field: a list with one value per record, or `Same`. Batches share columns: never modify a column in place."""

_DICT: Final = {dict}


class Fields(Sequence[dict[str, Any]]):
    """Rows with equal fields, stored as columns.

    Args:
        columns: the columns by field name, in field order; at least one.
        length: the number of rows.
        rows: the same rows as dicts, if they exist already.
        types: the types of the values of some columns, by field name, if a converter knows them from a schema.

    Raises:
        ValueError: a column has a different length.
    """

    __slots__ = ("_kinds", "_length", "_rows", "columns")

    def __init__(
        self,
        columns: Mapping[str, Column],
        length: int,
        *,
        rows: list[dict[str, Any]] | None = None,
        types: Mapping[str, frozenset[type]] = MappingProxyType({}),
    ) -> None:
        for name, column in columns.items():
            if isinstance(column, list) and len(column) != length:
                raise ValueError(f"Column '{name}' has {len(column)} values for {length} rows")
        self.columns = columns
        self._length = length
        self._rows = rows
        # Keep a reference to each column: its id could be reused after it is deleted.
        self._kinds: dict[int, tuple[Column, frozenset[type]]] = {
            id(columns[name]): (columns[name], known) for name, known in types.items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # The ids in `_kinds` are those of this object's columns, not those of a copy's. Rows are created again when needed.
        known = {n: self._kinds[id(c)][1] for n, c in self.columns.items() if id(c) in self._kinds}
        return _restored, (type(self), dict(self.columns), self._length, known)

    @classmethod
    def of(cls, rows: Sequence[Any]) -> "Fields | None":
        """Return the rows as columns, or None unless all are dicts with the same string keys in the same order."""
        if isinstance(rows, Fields):
            return rows
        if not rows or type(rows[0]) is not dict or not rows[0]:
            return None
        try:
            names = set(map(tuple, rows))
            if len(names) != 1 or set(map(type, rows)) != _DICT:
                return None
            (first,) = names
        except TypeError:
            return None
        if set(map(type, first)) != {str}:
            return None
        dicts = rows if isinstance(rows, list) else list(rows)
        return cls({name: list(map(itemgetter(name), dicts)) for name in first}, len(dicts), rows=dicts)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, row: int | slice) -> Any:
        return self.rows()[row]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dicts, which are created once."""
        if self._rows is None:
            self._rows = self._dicts()
        return self._rows

    def _dicts(self) -> list[dict[str, Any]]:
        """Create the dicts column by column, which takes half the time of `dict(zip(...))` per row."""
        (name, first), *others = self.columns.items()
        rows: list[dict[str, Any]]
        if isinstance(first, Same):
            rows = [{name: first.value} for _ in range(self._length)]
        else:
            rows = [{name: value} for value in first]
        for name, column in others:
            for row, value in zip(rows, repeat(column.value) if isinstance(column, Same) else column, strict=False):
                row[name] = value
        return rows

    def types(self, name: str) -> frozenset[type]:
        """Return the types of the values in a column."""
        column = self.columns[name]
        if isinstance(column, Same):
            return frozenset((type(column.value),))
        known = self._kinds.get(id(column))
        if known is None:
            known = self._kinds[id(column)] = (column, frozenset(map(type, column)))
        return known[1]

    def having(self, columns: Mapping[str, Column]) -> Self:
        """Return rows with these columns instead, in this order. Cached types of unchanged columns are kept."""
        new = type(self)(columns, self._length)
        new._kinds = self._kinds  # noqa: SLF001 (its own class)
        return new

    def take(self, rows: Sequence[int]) -> "Fields":
        """Return the rows with these indexes."""
        taken = row_picker(rows)
        return Fields({n: c if isinstance(c, Same) else taken(c) for n, c in self.columns.items()}, len(rows))

    def merged(self, other: "Fields", order: Sequence[int]) -> "Fields | None":
        """Return the rows of both in the given order, or None if their fields differ.

        Args:
            other: rows that follow those of this object.
            order: indexes into the concatenated rows.
        """
        if tuple(self.columns) != tuple(other.columns):
            return None
        ordered = row_picker(order)
        columns: dict[str, Column] = {}
        for name, one in self.columns.items():
            two = other.columns[name]
            if isinstance(one, Same) and isinstance(two, Same) and one.value is two.value:
                columns[name] = one
            else:
                columns[name] = ordered(_listed(one, len(self)) + _listed(two, len(other)))
        return Fields(columns, len(order))


def row_picker(rows: Sequence[int]) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that selects these rows of a column. An index may occur more than once."""
    if len(rows) < 2:
        return lambda column: [column[row] for row in rows]
    pick = itemgetter(*rows)
    return lambda column: list(pick(column))


def _restored(
    cls: type[Fields], columns: Mapping[str, Column], length: int, types: Mapping[str, frozenset[type]]
) -> Fields:
    """Return `Fields` restored by `copy` or `pickle`."""
    return cls(columns, length, types=types)


def _listed(column: Column, length: int) -> list[Any]:
    return [column.value] * length if isinstance(column, Same) else column
