"""The order of writes: as few statements as there can be while each key has its last state in the end. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from unicodedata import combining, normalize

from penstock import Schema
from penstock_sql.names import TableName
from penstock_sql.rows import Place, Rows

__all__ = ["Write", "writes"]

Row = tuple[Place, tuple[Any, ...]]


@dataclass(slots=True)
class Write:
    """Rows that go into a table by one statement.

    Attributes:
        table, keys, columns, delete: as of `Rows`.
        schemas: of each column.
        rows: each row with its record. Of a primary key it is the last one, where keys count.
        earlier: the rows of the same keys that came before in this write, oldest first, by key.
    """

    table: TableName
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    delete: bool
    schemas: Mapping[str, Schema | None]
    rows: list[Row] = field(default_factory=list)
    earlier: dict[Any, list[Row]] = field(default_factory=dict)

    def key(self, row: Row) -> tuple[Any, ...]:
        """The primary key of a row."""
        return row[1][: len(self.keys)]


def writes(parts: Sequence[Rows], *, keyed: bool, replacing: bool) -> list[Write]:
    """The statements for these rows, to be carried out one after the other.

    Args:
        parts: as the records have them.
        keyed: the order of the rows of one primary key counts.
        replacing: and the last of them stands for all.
    """
    if not keyed:
        return list(map(_write, parts))
    if len(parts) == 1:
        return [_last_of_keys(_write(parts[0]), replacing=replacing)]
    found: list[Write] = []
    last: dict[Any, int] = {}  # the place in `found` of the last write that has the key
    latest: dict[Any, int] = {}  # that of the last write of a form
    kinds = [_write(part) for part in parts]
    for (_, row), of in _in_order(kinds):
        like = kinds[of]
        key = (like.table, *map(_alike, like.key(row)))
        form = (like.table, like.keys, like.columns, like.delete, tuple(map(id, like.schemas.values())))
        at = latest.get(form, -1)
        if at < last.get(key, 0) or at < 0:
            at = latest[form] = len(found)
            found.append(Write(like.table, like.keys, like.columns, like.delete, like.schemas))
        last[key] = at
        found[at].rows.append(row)
    return [_last_of_keys(write, replacing=replacing) for write in found]


def _alike(value: Any) -> Any:
    """The same for values that the database may find to be the same. More that are the same cost a statement, no fault."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        value = format(Decimal(str(value)).normalize(), "f") if math.isfinite(value) else value
    text = str(value).strip().casefold()
    if not text.isascii():  # collations may take letters with and without accents for the same
        text = "".join(letter for letter in normalize("NFKD", text) if not combining(letter))
    with suppress(ArithmeticError):
        return format(Decimal(text).normalize(), "f")
    return text


def _write(part: Rows) -> Write:
    rows = list(zip(part.places, zip(*part.columns.values(), strict=True), strict=True))
    return Write(part.table, part.keys, tuple(part.columns), part.delete, part.schemas, rows)


def _in_order(kinds: Sequence[Write]) -> Iterable[tuple[tuple[Place, Row], int]]:
    """All rows as the records came, each with the number of its kind."""
    return sorted(
        (((row[0], row), of) for of, write in enumerate(kinds) for row in write.rows), key=lambda each: each[0][0]
    )


def _last_of_keys(write: Write, *, replacing: bool) -> Write:
    if not replacing and not write.delete:
        return write
    rows: dict[Any, Row] = {}
    for row in write.rows:
        key = write.key(row)
        if key in rows:
            write.earlier.setdefault(key, []).append(rows[key])
        rows[key] = row
    write.rows = list(rows.values())
    return write
