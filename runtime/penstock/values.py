"""Values whose Connect type Python's own types do not tell: the other widths of numbers, and instants.

Plain `int` is int64 and plain `float` is float64 where no schema says otherwise. Under a schema a plain number takes the
schema's width; a value of one of these classes must agree with it, as the boxed types must in Kafka Connect.
"""

from datetime import UTC, datetime, timedelta
from typing import Self

__all__ = ["Float32", "Instant", "Int8", "Int16", "Int32", "Int64"]

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
    """A 64 bit integer that says so, where a plain int would take a schema's width."""

    __slots__ = ()


class Float32(float):
    """A 32 bit float without a schema."""

    __slots__ = ()


class Instant(int):
    """A point in time, milliseconds since 1970-01-01T00:00Z: the value of Date, Time and Timestamp.

    An integer, because Connect's range (years before 1 and after 9999 among them) is wider than `datetime`'s.
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
