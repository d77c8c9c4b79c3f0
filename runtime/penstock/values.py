"""Values whose Connect type cannot be derived from Python's own types: numbers of other widths, and instants.

Without a schema, a plain `int` is an int64 and a plain `float` a float64. With a schema, a plain number has the width of the
schema; a value of one of these classes must match that width, like the boxed types in Kafka Connect.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Self

__all__ = ["Float32", "Float64", "Instant", "Int8", "Int16", "Int32", "Int64"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Int8(int):
    """8-bit integer for values without a schema."""

    __slots__ = ()


class Int16(int):
    """16-bit integer for values without a schema."""

    __slots__ = ()


class Int32(int):
    """32-bit integer for values without a schema."""

    __slots__ = ()


class Int64(int):
    """64-bit integer, even with a schema, where a plain `int` would have the width of the schema.

    Attributes:
        exact: the number in the message if it exceeds 64 bits; this value then holds its low bits, as in Kafka Connect.
    """

    exact: int | None = None


class Float32(float):
    """32-bit float for values without a schema.

    Attributes:
        exact: the number in the message if it exceeds the range of floats; this value is then infinite, as in Kafka Connect.
    """

    exact: Decimal | None = None


class Float64(float):
    """64-bit float, even with a narrower schema.

    Attributes:
        exact: see `Float32`.
    """

    exact: Decimal | None = None


class Instant(int):
    """Point in time in milliseconds since 1970-01-01T00:00Z: the value of Date, Time and Timestamp.

    It is an integer because Connect's range exceeds that of `datetime`, with years before 1 and after 9999.
    """

    __slots__ = ()

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """Create an instant from an aware `datetime`, truncated to milliseconds."""
        return cls((moment - _EPOCH) // timedelta(milliseconds=1))

    def datetime(self) -> datetime:
        """Return the instant as an aware `datetime` in UTC.

        Raises:
            OverflowError: the year is not between 1 and 9999.
        """
        return _EPOCH + timedelta(milliseconds=int(self))
