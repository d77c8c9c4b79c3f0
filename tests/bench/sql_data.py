"""Orders: rows of eight columns, as JSON with a schema that both sides read, and as CSV for COPY."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["CHANGES", "TABLE", "messages", "write_csv"]

TABLE: Final = """\
CREATE TABLE {name} (
  id BIGINT PRIMARY KEY, customer TEXT NOT NULL, country TEXT NOT NULL, amount DOUBLE PRECISION NOT NULL,
  quantity INT NOT NULL, paid BOOLEAN NOT NULL, created TIMESTAMPTZ NOT NULL, note TEXT
)"""
_TYPES: Final = {
    "id": "int64", "customer": "string", "country": "string", "amount": "double", "quantity": "int32", "paid": "boolean",
    "created": "int64", "note": "string",
}  # fmt: skip
CHANGES: Final = ", ".join(f"{name} = EXCLUDED.{name}" for name in _TYPES if name != "id")
"""What an upsert sets where the row is there."""

_MORE: Final[dict[str, dict[str, object]]] = {
    "created": {"name": "org.apache.kafka.connect.data.Timestamp", "version": 1},
    "note": {"optional": True},
}
_SCHEMA: Final = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"type": of, "optional": False, **_MORE.get(name, {}), "field": name} for name, of in _TYPES.items()
        ],
        "optional": False,
        "name": "bench.Order",
    },
    separators=(",", ":"),
)
_COUNTRIES: Final = ("Austria", "Brazil", "Canada", "Denmark", "Egypt", "Finland", "Ghana")
_NOTE: Final = "The quick brown fox jumps over the lazy dog; sphinx of black quartz: judge my vow! " * 2
_START: Final = 1_700_000_000_000
_BLOCK: Final = 10_000


def messages(start: int, end: int) -> Iterator[list[str]]:
    """The records of these ids, in blocks."""
    for first in range(start, end, _BLOCK):
        yield [_message(n) for n in range(first, min(end, first + _BLOCK))]


def write_csv(path: Path, count: int) -> None:
    """The rows of the ids from 0 on."""
    with path.open("w", encoding="ascii") as file:
        for first in range(0, count, _BLOCK):
            file.write("".join(_line(n) for n in range(first, min(count, first + _BLOCK))))


def _message(n: int) -> str:
    customer, country, amount, quantity, paid, created, note = _fields(n)
    text = f'"{note}"' if note else "null"
    return (
        f'{{"schema":{_SCHEMA},"payload":{{"id":{n},"customer":"{customer}","country":"{country}","amount":{amount},'
        f'"quantity":{quantity},"paid":{paid},"created":{_START + created},"note":{text}}}}}'
    )


def _line(n: int) -> str:
    customer, country, amount, quantity, paid, created, note = _fields(n)
    seconds, ms = divmod(_START + created, 1000)
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
    return f"{n},{customer},{country},{amount},{quantity},{paid},{moment}.{ms:03}+00,{note}\n"


def _fields(n: int) -> tuple[str, str, str, int, str, int, str]:
    """All but the id; no note in every eighth."""
    start = n % 64
    return (
        f"customer-{n * 7919 % 100_003}",
        _COUNTRIES[n % 7],
        f"{n * 31 % 1_000_000}.25",
        n % 50,
        "true" if n % 3 else "false",
        n * 97,
        _NOTE[start : start + 60] if n % 8 else "",
    )
