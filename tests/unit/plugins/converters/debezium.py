"""Change events of a table as Debezium's connector for PostgreSQL makes them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from penstock import Fields, Same, Schema, Type
from penstock.schema import BOOLEAN, BYTES, FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING, array_of, decimal, struct

__all__ = ["EXTENDED", "ORDERS", "envelope", "events"]

_MICROS: Final = Schema(Type.INT64, optional=True, name="io.debezium.time.MicroTimestamp", version=1)
_DAYS: Final = Schema(Type.INT32, optional=True, name="io.debezium.time.Date", version=1)
_SNAPSHOT: Final = Schema(
    Type.STRING,
    optional=True,
    name="io.debezium.data.Enum",
    version=1,
    parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
    default="false",
)
_OPTIONAL_INT64: Final = INT64.as_optional()

_SOURCE: Final = struct(
    {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": _SNAPSHOT,
        "db": STRING,
        "sequence": OPTIONAL_STRING,
        "ts_us": _OPTIONAL_INT64,
        "ts_ns": _OPTIONAL_INT64,
        "schema": STRING,
        "table": STRING,
        "txId": _OPTIONAL_INT64,
        "lsn": _OPTIONAL_INT64,
        "xmin": _OPTIONAL_INT64,
    },
    name="io.debezium.connector.postgresql.Source",
)
_TRANSACTION: Final = struct(
    {"id": STRING, "total_order": INT64, "data_collection_order": INT64},
    name="event.block",
    version=1,
    optional=True,
)

ORDERS: Final[dict[str, Schema]] = {
    "id": INT32,
    "customer": STRING,
    "note": OPTIONAL_STRING,
    "paid": Schema(Type.BOOLEAN, default=False),
    "weight": FLOAT64.as_optional(),
    "tags": array_of(OPTIONAL_STRING, optional=True),
    "picture": BYTES.as_optional(),
    "due": _DAYS,
    "created_at": _MICROS,
    "priority": Schema(Type.INT32, optional=True, default=3),
}
"""The columns of a table."""

EXTENDED: Final = {**ORDERS, "price": decimal(2, optional=True), "express": BOOLEAN.as_optional()}
"""The same after an ALTER TABLE."""


def envelope(columns: dict[str, Schema]) -> Schema:
    """The schema of a change event. The rows before and after a change share one."""
    row = struct(columns, name="x.public.orders.Value", optional=True)
    return struct(
        {
            "before": row,
            "after": row,
            "source": _SOURCE,
            "transaction": _TRANSACTION,
            "op": STRING,
            "ts_ms": _OPTIONAL_INT64,
            "ts_us": _OPTIONAL_INT64,
            "ts_ns": _OPTIONAL_INT64,
        },
        name="x.public.orders.Envelope",
        version=2,
    )


def events(columns: dict[str, Schema], ops: Sequence[str]) -> Fields:
    """One event for each operation: r (read in a snapshot), c, u or d."""
    numbers = range(len(ops))
    millis = [1_760_000_000_000 + n for n in numbers]
    return Fields(
        {
            "before": [_row(columns, n) if op in "ud" else None for n, op in enumerate(ops)],
            "after": [_row(columns, n + 1) if op != "d" else None for n, op in enumerate(ops)],
            "source": [_source(n, op, millis[n]) for n, op in enumerate(ops)],
            "transaction": Same(None),
            "op": list(ops),
            "ts_ms": millis,
            "ts_us": [ms * 1_000 for ms in millis],
            "ts_ns": [ms * 1_000_000 for ms in millis],
        },
        len(ops),
    )


def _row(columns: dict[str, Schema], number: int) -> dict[str, Any]:
    values = {
        "id": number,
        "customer": f"customer {number} é",
        "note": 'said "soon"' if number % 3 else None,
        "paid": number % 2 == 0,
        "weight": number / 4 if number % 5 else None,
        "tags": ["new", None] if number % 2 else None,
        "picture": bytes([number % 256, 255]) if number % 2 else None,
        "due": 20_000 + number,
        "created_at": 1_760_000_000_000_000 + number,
        "priority": None if number % 4 else number,
        "price": Decimal(number).scaleb(-2) if number % 3 else None,
        "express": None,
    }
    return {name: values[name] for name in columns}


def _source(number: int, op: str, millis: int) -> dict[str, Any]:
    return {
        "version": "3.6.1.Final",
        "connector": "postgresql",
        "name": "x",
        "ts_ms": millis,
        "snapshot": "true" if op == "r" else None,  # Debezium leaves it out while streaming, and its default is "false"
        "db": "shop",
        "sequence": f'["{24_023_000 + number}","{24_023_128 + number}"]',
        "ts_us": millis * 1_000,
        "ts_ns": millis * 1_000_000,
        "schema": "public",
        "table": "orders",
        "txId": 700 + number,
        "lsn": 24_023_128 + number,
        "xmin": None,
    }
