"""What the rest of the connectors and the dialects say to each other."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock_sql.names import TableName

__all__ = ["Place", "Row", "Write"]


class Place(NamedTuple):
    """A record: the number of its batch, and its row there."""

    batch: int
    row: int


Row = tuple[Place, tuple[Any, ...]]

_IDENTICAL: Final = {int, str, bytes}
"""Types whose equal values are the same to every column. Others may differ: 0.0 and -0.0, Decimals by their digits."""


@dataclass(slots=True)
class Write:
    """Rows that go into a table by one statement.

    Attributes:
        table, keys, columns, delete, kept: as of `Rows`.
        rows: each row with its record, in the order of the records.
        fixed: columns whose value the database takes for new rows only.
    """

    table: TableName
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    delete: bool
    kept: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    fixed: frozenset[str] = frozenset()

    def last_rows(self) -> list[Row]:
        """The rows, of those with identical keys only the last one.

        Keys that differ may still be the same to the database, which compares them by the type of their column.
        """
        count = len(self.keys)
        keys = [row[:count] for _, row in self.rows]
        if not _IDENTICAL.issuperset({type(value) for key in keys for value in key}) or len(set(keys)) == len(keys):
            return self.rows
        last = {key: at for at, key in enumerate(keys)}
        return [self.rows[at] for at in sorted(last.values())]
