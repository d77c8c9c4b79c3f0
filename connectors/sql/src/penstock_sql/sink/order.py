"""Order of writes: the fewest statements after which each key has its last state. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from penstock_sql.dialects.base import Place, Write
from penstock_sql.names import TableName
from penstock_sql.sink.rows import Rows

__all__ = ["keys_to_compare", "write_of", "writes"]


def write_of(rows: Rows, fixed: frozenset[str]) -> Write:
    """Return one statement for the rows. `fixed` are the columns that accept a value for new rows only."""
    pairs = list(zip(rows.places, zip(*rows.columns.values(), strict=True), strict=True))
    return Write(rows.table, rows.keys, tuple(rows.columns), rows.delete, rows.kept, pairs, fixed)


def keys_to_compare(kinds: Iterable[Write]) -> list[Write]:
    """Return the keys of all rows, for each table with several statements, as rows that consist of the keys.

    Tables whose records have different key columns are omitted, since their keys cannot be compared.
    """
    tables: dict[TableName, list[Write]] = {}
    for kind in kinds:
        tables.setdefault(kind.table, []).append(kind)
    return [_keys(of) for of in tables.values() if len(of) > 1 and len({frozenset(kind.keys) for kind in of}) == 1]


def _keys(kinds: Sequence[Write]) -> Write:
    first = kinds[0]
    found = Write(first.table, first.keys, first.keys, delete=True)
    for kind in kinds:
        order = [kind.keys.index(name) for name in first.keys]
        found.rows += ((place, tuple([row[at] for at in order])) for place, row in kind.rows)
    found.rows.sort(key=itemgetter(0))
    return found


def writes(kinds: Sequence[Write], same: Mapping[Place, int]) -> list[Write]:
    """Return the statements for these rows, in the order of execution.

    Args:
        kinds: groups of rows with the same columns.
        same: a number for each row, which is the same for rows of a table with the same primary key. Rows of a table without
            such numbers stay in the order of their records.
    """
    found: list[Write] = []
    last: dict[Any, int] = {}  # index in `found` of the last write with the key
    latest: dict[Any, int] = {}  # index in `found` of the last write of a form
    forms = [(kind.table, kind.keys, kind.columns, kind.delete, kind.kept) for kind in kinds]
    in_order = sorted(((row, of) for of, kind in enumerate(kinds) for row in kind.rows), key=lambda each: each[0][0])
    for row, of in in_order:
        form = forms[of]
        key = (form[0], same.get(row[0]))
        at = latest.get(form, -1)
        if at < last.get(key, 0) or at < 0:
            at = latest[form] = len(found)
            found.append(Write(*form, fixed=kinds[of].fixed))
        last[key] = at
        found[at].rows.append(row)
    return found
