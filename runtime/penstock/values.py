"""Values whose Connect type does not follow from Python's own types: numbers of other widths, and instants.

Without a schema, a plain `int` is an int64 and a plain `float` a float64. Under a schema, a plain number takes the width of
the schema; a value of one of these classes must have that width, as the boxed types in Kafka Connect.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Self

__all__ = ["Float32", "Float64", "Instant", "Int8", "Int16", "Int32", "Int64"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Int8(int):
    """An 8 bit integer without a schema."""

    __slots__ = ()


class Int16(int):
    """A 16 bit integer without a schema."""

    __slots__ = ()


class Int32(int):
    """A 32 bit integer without a schema."""

    __slots__ = ()


class Int64(int):
    """A 64 bit integer also under a schema, where a plain `int` would take the width of the schema.

    Attributes:
        exact: the number that a message has, where 64 bits cannot hold it and this is its low bits, as in Kafka Connect.
    """

    exact: int | None = None


class Float32(float):
    """A 32 bit float without a schema.

    Attributes:
        exact: the number that a message has, where it is beyond every float and this is infinity, as in Kafka Connect.
    """

    exact: Decimal | None = None


class Float64(float):
    """A 64 bit float, which a plain `float` is as well unless its schema is narrower.

    Attributes:
        exact: as that of `Float32`.
    """

    exact: Decimal | None = None


class Instant(int):
    """A point in time, milliseconds since 1970-01-01T00:00Z: the value of Date, Time and Timestamp.

    It is an integer because Connect's range is wider than that of `datetime`: it has years before 1 and after 9999.
    """

    __slots__ = ()

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """The instant of an aware `datetime`, cut to milliseconds."""
        return cls((moment - _EPOCH) // timedelta(milliseconds=1))

    def datetime(self) -> datetime:
        """The same moment as an aware `datetime` in UTC.

        Raises:
            OverflowError: the year lies outside 1 to 9999.
        """
        return _EPOCH + timedelta(milliseconds=int(self))
