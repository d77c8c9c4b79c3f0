"""Forms of a timestamp that TimestampConverter converts: string, Unix time, Date, Time, Timestamp."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock import ConnectError, DataError, Instant, Int64, Schema, Type
from penstock.schema import DATE, DATE_NAME, INT64, STRING, TIME, TIME_NAME, TIMESTAMP, TIMESTAMP_NAME
from penstock_java_compat.calendar import DAY, int64
from penstock_java_compat.date_format import SimpleDateFormat, TextError
from penstock_plugins.connect.values import java_class

__all__ = ["PRECISIONS", "SCHEMAS", "TimestampFormat", "form_of_schema"]

SCHEMAS: Final[Mapping[str, Schema]] = {
    "string": STRING,
    "unix": INT64,
    "Date": DATE,
    "Time": TIME,
    "Timestamp": TIMESTAMP,
}
"""Schema of a value in each form."""

_LOGICAL: Final[Mapping[str | None, str]] = {TIMESTAMP_NAME: "Timestamp", DATE_NAME: "Date", TIME_NAME: "Time"}
_LEAST, _GREATEST = -(2**63), 2**63 - 1
_NULL: Final = type(None)
_CLASSES: Final[Mapping[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "unix": frozenset({int, Int64}),
    "Date": frozenset({Instant}),
    "Time": frozenset({Instant}),
    "Timestamp": frozenset({Instant}),
}
_EXPECTED: Final[Mapping[str, str]] = {
    "string": "string timestamp to be a String",
    "unix": "Unix timestamp to be a Long",
    "Date": "Date to be a java.util.Date",
    "Time": "Time to be a java.util.Date",
    "Timestamp": "Timestamp to be a java.util.Date",
}


PRECISIONS: Final[Mapping[str, tuple[int, int]]] = {
    "nanoseconds": (1, 1_000_000),
    "microseconds": (1, 1000),
    "milliseconds": (1, 1),
    "seconds": (1000, 1),
}
"""Units of Unix time: the factor and the divisor that convert them to milliseconds."""


def _scale(numbers: list[int], up: int, down: int) -> list[int]:
    """Scale numbers as Java's `TimeUnit` does: round toward zero, and stop at the bounds of 64 bits."""
    if up > 1:
        if min(numbers) * up >= _LEAST and max(numbers) * up <= _GREATEST:
            return [n * up for n in numbers]
        return [min(max(n * up, _LEAST), _GREATEST) for n in numbers]
    if down > 1:
        return [n // down if n >= 0 else -(-n // down) for n in numbers]
    return list(map(int, numbers))


def form_of_schema(schema: Schema) -> str:
    """Return the form of values under this schema.

    Raises:
        ConnectError: the schema has no form.
    """
    form = _LOGICAL.get(schema.name)
    if form is not None:
        return form
    if schema.type is Type.STRING:
        return "string"
    if schema.type is Type.INT64:
        return "unix"
    raise ConnectError(
        f"Schema {schema.type.upper()} does not correspond to a known timestamp type format. TimestampConverter takes Date, "
        "Time, Timestamp, string and int64."
    )


def _form_of_class(value: object) -> str:
    kind = type(value)
    if kind is Instant:
        return "Timestamp"
    if kind is str:
        return "string"
    if kind in _CLASSES["unix"] and java_class(None, value) == "java.lang.Long":
        return "unix"
    raise DataError(f"TimestampConverter does not support class {java_class(None, value)} objects as timestamps")


class TimestampFormat:
    """Converter of values to one form.

    Args:
        target: one of `SCHEMAS`.
        precision: one of `PRECISIONS`, for Unix time that is read or written.
        pattern: SimpleDateFormat pattern of strings; None if none is configured.
    """

    def __init__(self, target: str, precision: str, pattern: str | None) -> None:
        self._target = target
        self._up, self._down = PRECISIONS[precision]
        self._pattern = pattern
        self.format: Final = None if pattern is None else SimpleDateFormat(pattern)

    def convert(self, value: Any, form: str | None) -> Any:
        """Return the value in the target form; null stays null.

        Args:
            value: the timestamp.
            form: its form; None to derive it from its class.

        Raises:
            DataError: the value is not of a class of the form, or is a string that does not match the pattern.
            TypeError: the value is a string, and there is no pattern.
        """
        if value is None:
            return None
        if form is None:
            form = _form_of_class(value)
        elif type(value) not in _CLASSES[form] or (form == "unix" and not _LEAST <= value <= _GREATEST):
            raise DataError(f"Expected {_EXPECTED[form]}, but found class {java_class(None, value)}")
        return self._write(self._read([value], form))[0]

    def convert_column(self, values: Sequence[Any], form: str | None) -> list[Any]:
        """Convert as `convert` does, for many values. Errors do not name the failed value."""
        kinds = set(map(type, values)) - {_NULL}
        if not kinds:
            return [None] * len(values)
        present = values if type(values) is list and None not in values else [v for v in values if v is not None]
        text_to_text = str in kinds and self._target == "string"
        if (form is None and len(kinds) > 1) or (text_to_text and self._text_format().reads_zone_names):
            return [self.convert(value, form) for value in values]  # output is in the zone of the previous string
        if form is None:
            form = _form_of_class(present[0])
        if not kinds <= _CLASSES[form] or (form == "unix" and not _LEAST <= min(present) <= max(present) <= _GREATEST):
            raise DataError(f"Expected {_EXPECTED[form]}")
        converted = self._write(self._read(present, form))
        if len(converted) == len(values):
            return converted
        remaining = iter(converted)
        return [None if v is None else next(remaining) for v in values]

    def _read(self, values: list[Any], form: str) -> list[int]:
        if form == "string":
            try:
                return self._text_format().parse_all(values)
            except TextError:
                raise DataError(
                    f"Could not parse timestamp: a string does not match pattern ({self._pattern})"
                ) from None
        return _scale(values, self._up, self._down) if form == "unix" and self._up != self._down else values

    def _write(self, millis: list[int]) -> list[Any]:
        target = self._target
        if target == "string":
            return self._text_format().format_all(millis)
        if target == "unix":
            return _scale(millis, self._down, self._up)
        if target == "Timestamp":
            return list(map(Instant, millis))
        if target == "Time":
            return [Instant(m % DAY) for m in millis]
        starts = [m // DAY * DAY for m in millis]
        # The first day in the 64-bit range starts before the range; Java's sum overflows there, and so does this one.
        return list(map(Instant, starts if min(starts) >= _LEAST else map(int64, starts)))

    def _text_format(self) -> SimpleDateFormat:
        if self.format is None:
            raise TypeError("cannot parse a string as a timestamp: TimestampConverter has no format; set 'format'")
        return self.format
