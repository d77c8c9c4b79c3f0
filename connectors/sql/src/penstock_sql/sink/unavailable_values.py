"""Values that Debezium replaced with a placeholder, since they were not available. Pure.

PostgreSQL's log does not contain large values (TOAST) that an update did not change.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import md5
from typing import Any, Final
from uuid import UUID

from penstock import DataError, Schema, Type
from penstock_sql.sink.rows import Refused, Rows

__all__ = ["Placeholder"]


class Placeholder:
    """Debezium's `unavailable.value.placeholder`, in its forms for each type of column.

    Args:
        text: the placeholder of text columns. Binary columns have its bytes, or base64 or hexadecimal digits if the source
            or the converter represents bytes as text.
    """

    def __init__(self, text: str) -> None:
        raw = text.encode()
        hstore = {text: text}
        digest = UUID(bytes=md5(raw, usedforsecurity=False).digest(), version=3)
        texts = {text, b64encode(raw).decode(), b64encode(raw, b"-_").decode(), raw.hex()}
        texts |= {json.dumps(hstore), json.dumps(hstore, separators=(",", ":"))}
        numbers = [byte - 256 if byte > 127 else byte for byte in raw]
        self._forms: dict[type, list[Any]] = {
            str: sorted(texts),
            bytes: [raw],
            list: [[text], [raw], [b64encode(raw).decode()], [str(digest)], numbers],
            dict: [hstore],
        }

    def is_in(self, column: Sequence[Any], schema: Schema | None) -> bool:
        """Return whether any value of the column is a placeholder."""
        of = set(map(type, column)) if schema is None else {_TYPES.get(schema.type)}
        return any(form in column for kind, forms in self._forms.items() if kind in of for form in forms)

    def is_value(self, value: Any) -> bool:
        """Return whether a value is a placeholder."""
        return value in self._forms.get(type(value), ())

    def parts(self, rows: Rows, refused: list[Refused], *, inserting: bool) -> Iterator[Rows]:
        """Yield the rows without the columns whose value is a placeholder, grouped by their remaining columns.

        Args:
            rows: the rows of the records.
            refused: receives the rows that need the missing value: new rows, and rows whose key contains a placeholder.
            inserting: whether all rows are new.
        """
        columns = [name for name, column in rows.columns.items() if self.is_in(column, rows.schemas[name])]
        if not columns:
            yield rows
            return
        groups: dict[tuple[str, ...], list[int]] = {}
        for row, place in enumerate(rows.places):
            lacking = tuple(name for name in columns if self.is_value(rows.columns[name][row]))
            if lacking and (inserting or not set(lacking).isdisjoint(rows.keys)):
                refused.append(Refused(place, DataError(_REASON.format(", ".join(lacking)))))
            else:
                groups.setdefault(lacking, []).append(row)
        for lacking, chosen in groups.items():
            yield rows.keeping(chosen, lacking)


_TYPES: Final = {Type.STRING: str, Type.BYTES: bytes, Type.ARRAY: list, Type.MAP: dict}
_REASON: Final = (
    "cannot build a row: the value of {} is unavailable, since Debezium wrote its placeholder for a large value (TOAST) "
    "that did not change; set insert.mode: upsert, or REPLICA IDENTITY FULL for the source's table"
)
