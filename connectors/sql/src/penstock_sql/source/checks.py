"""Whether a table can be read by the columns of the mode. Pure."""

from typing import Final

from sqlalchemy import types as sql

from penstock import ConnectError, Problem
from penstock_sql.dialects.base import Columns
from penstock_sql.names import TableName
from penstock_sql.source.config import SqlSourceConfig

__all__ = ["Unsuitable", "check_columns", "key_columns"]

_NUMBER_COLUMN: Final = "incrementing.column.name"
_TIME_COLUMN: Final = "timestamp.column.name"
_NO_NUMBERS: Final = (
    sql.String,
    sql.Boolean,
    sql.Date,
    sql.DateTime,
    sql.Time,
    sql.Float,
    sql.JSON,
    sql.Uuid,
    sql._Binary,  # noqa: SLF001 (the base of all binary types, which has no other name)
)


class Unsuitable(ConnectError):
    """A table that cannot be read as configured.

    Attributes:
        problem: names the property.
    """

    def __init__(self, property_name: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(property_name, message)


def key_columns(config: SqlSourceConfig) -> list[str]:
    """Return the columns by which the mode finds new rows."""
    number = [config.incrementing_column] if config.by_number and config.incrementing_column else []
    return [*(config.timestamp_columns if config.by_timestamp else ()), *number]


def check_columns(config: SqlSourceConfig, of: TableName, columns: Columns) -> None:
    """Check that a table has the columns of the mode, in types that the mode can use.

    Raises:
        Unsuitable: it has not.
    """
    wanted = key_columns(config)
    moments = set(config.timestamp_columns) if config.by_timestamp else set()
    missing = [name for name in wanted if name not in columns.types]
    if missing:
        raise Unsuitable(
            _TIME_COLUMN if missing[0] in moments else _NUMBER_COLUMN,
            f"Table {of} has no column {', '.join(missing)}, by which mode: {config.mode} finds new rows",
        )
    nullable = [name for name in wanted if name not in columns.required]
    counted = [
        *(moments if moments and moments <= set(nullable) else ()),
        *(n for n in nullable if n not in moments),
    ]
    if counted and config.validate_non_null:
        raise Unsuitable(
            _TIME_COLUMN if counted[0] in moments else _NUMBER_COLUMN,
            f"Column {', '.join(counted)} of {of} may be null, and its rows with null would be passed over: set it NOT "
            "NULL, or validate.non.null: false",
        )
    if moments:
        zones = {getattr(columns.types[name], "timezone", None) for name in config.timestamp_columns}
        if len(zones) != 1 or None in zones:
            named = ", ".join(config.timestamp_columns)
            raise Unsuitable(_TIME_COLUMN, f"{named} of {of} must be timestamps, all with or without a zone")
    if config.by_number and isinstance(columns.types[config.incrementing_column or ""], _NO_NUMBERS):
        raise Unsuitable(
            _NUMBER_COLUMN,
            f"{config.incrementing_column} of {of} must hold whole numbers that only grow; name such a column, or find new "
            "rows by mode: timestamp",
        )
