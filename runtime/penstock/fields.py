"""Maps or structs that have the same fields, held as a column for each field.

A batch of a million records of one shape costs a million dicts. As columns it costs a list for each field, and a field that
is the same in every record costs nothing. Converters that recognise such a batch return `Fields`, transforms work on its
columns, and converters and sinks write from them. `Fields` is also the sequence of the dicts, which are made at the first
access.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, Self, overload

__all__ = ["Column", "Fields", "Same", "row_picker"]


class Same(NamedTuple):
    """A column that holds one value in every record."""

    value: Any


Column = list[Any] | Same
"""The values of a field: a list with one for each record, or `Same` with the one of all. Batches share columns: never change
one in place."""

_DICT: Final = {dict}


class Fields(Sequence[dict[str, Any]]):
    """Rows of the same fields as columns.

    Args:
        columns: the columns by field name, in the order of the fields; at least one field.
        length: how many rows there are.
        rows: the same rows as dicts, if they exist already.

    Raises:
        ValueError: a column is of another length.
    """

    __slots__ = ("_kinds", "_length", "_rows", "columns")

    def __init__(self, columns: Mapping[str, Column], length: int, *, rows: list[dict[str, Any]] | None = None) -> None:
        for name, column in columns.items():
            if isinstance(column, list) and len(column) != length:
                raise ValueError(f"Column '{name}' has {len(column)} values for {length} rows")
        self.columns = columns
        self._length = length
        self._rows = rows
        self._kinds: dict[int, tuple[list[Any], frozenset[type]]] = {}

    @classmethod
    def of(cls, rows: Sequence[Any]) -> "Fields | None":
        """These rows as columns; None unless all are dicts with the same texts as keys, in the same order."""
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
        """The rows as dicts. They are made once."""
        if self._rows is None:
            self._rows = self._dicts()
        return self._rows

    def _dicts(self) -> list[dict[str, Any]]:
        """Fills the dicts column by column, which takes half the time of a `dict(zip(...))` for each row."""
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
        """The types of the values in a column."""
        column = self.columns[name]
        if isinstance(column, Same):
            return frozenset((type(column.value),))
        known = self._kinds.get(id(column))
        if known is None:
            # Keep the column beside its types: an id is reused once its object is gone.
            known = self._kinds[id(column)] = (column, frozenset(map(type, column)))
        return known[1]

    def having(self, columns: Mapping[str, Column]) -> Self:
        """Rows with these columns in place of the present ones, in this order. Known types of columns that stay are kept."""
        new = type(self)(columns, self._length)
        new._kinds = self._kinds  # noqa: SLF001 (of its own class)
        return new

    def take(self, rows: Sequence[int]) -> "Fields":
        """The rows with these indexes."""
        taken = row_picker(rows)
        return Fields({n: c if isinstance(c, Same) else taken(c) for n, c in self.columns.items()}, len(rows))

    def merged(self, other: "Fields", order: Sequence[int]) -> "Fields | None":
        """The rows of both in one order; None if the fields differ.

        Args:
            other: its rows follow those of this one.
            order: indexes into the rows of both.
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
    """A function that picks these rows from a column. An index may occur more than once."""
    if len(rows) < 2:
        return lambda column: [column[row] for row in rows]
    pick = itemgetter(*rows)
    return lambda column: list(pick(column))


def _listed(column: Column, length: int) -> list[Any]:
    return [column.value] * length if isinstance(column, Same) else column
