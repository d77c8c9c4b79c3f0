"""Fields of records, and their mapping from fixed-precision numbers, as in Confluent's JDBC source. Pure."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from penstock import DataError, Schema
from penstock.schema import FLOAT64, INT8, INT16, INT32, INT64, decimal

__all__ = ["Field", "NumericMapping", "Reader", "numeric_field"]

Reader = Callable[[Any], Any]
"""Converts a driver's value, never None, to a record's value. Raises DataError."""

Field = tuple[Schema, Reader | None]
"""The schema of a result column, and the reader of its values; None if they are used unchanged."""

_MOST_DIGITS: Final = 18
"""Maximum number of decimal digits of a number that always fits into an int64."""
_WHOLE: Final = ((2, INT8), (4, INT16), (9, INT32), (_MOST_DIGITS, INT64))
"""Maximum number of decimal digits of each type."""


class NumericMapping(StrEnum):
    """Rules for which numbers become integers or doubles instead of a Decimal."""

    NONE = "none"
    PRECISION_ONLY = "precision_only"
    BEST_FIT = "best_fit"
    BEST_FIT_EAGER_DOUBLE = "best_fit_eager_double"


def numeric_field(mapping: NumericMapping, precision: int, scale: int) -> Field:
    """Return the required field of a numeric column.

    Args:
        mapping: `numeric.mapping`.
        precision: the number of digits, without the zeros before the point that a negative scale adds.
        scale: how many of the digits follow the point.
    """
    if mapping is not NumericMapping.NONE and scale <= 0 and not (mapping is NumericMapping.PRECISION_ONLY and scale):
        whole = next((schema for most, schema in _WHOLE if precision - scale <= most), None)
        if whole is not None:
            return whole, _whole
    if scale > 0 and (
        mapping is NumericMapping.BEST_FIT_EAGER_DOUBLE
        or (mapping is NumericMapping.BEST_FIT and precision <= _MOST_DIGITS)
    ):
        return FLOAT64, float
    return decimal(max(scale, 0)), _finite


def _whole(value: Decimal | str) -> int:
    return int(_finite(Decimal(value)))


def _finite(value: Decimal | str) -> Decimal:
    number = Decimal(value)
    if not number.is_finite():
        raise DataError(
            f"cannot read {number} as a number of fixed precision; read the column as text or double with a query"
        )
    return number
