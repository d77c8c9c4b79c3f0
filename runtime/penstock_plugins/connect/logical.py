"""Numbers that encode the instants of Connect's logical types Date, Time and Timestamp."""

from penstock import DataError, Type
from penstock.schema import DATE_NAME, TIME_NAME
from penstock_java_compat.calendar import DAY
from penstock_plugins.connect.number_casts import narrow

__all__ = ["encode_instant"]


def encode_instant(name: str | None, millis: int) -> int:
    """Return the number of an instant, as the `fromLogical` of Date, Time or Timestamp does; the schema name selects it.

    Raises:
        DataError: a date has a time of day, or a time has a date.
    """
    if name == DATE_NAME:
        if millis % DAY:
            raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
        return narrow(millis // DAY, Type.INT32)
    if name == TIME_NAME and not 0 <= millis <= DAY:
        raise DataError("Kafka Connect Time type should not have any date fields set to non-zero values.")
    return int(millis)
