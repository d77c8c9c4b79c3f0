"""The forms of a timestamp between which TimestampConverter translates, and the moments that they mean."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock import ConnectError, DataError, Instant, Int64, Schema, Type
from penstock.schema import DATE, DATE_NAME, INT64, STRING, TIME, TIME_NAME, TIMESTAMP, TIMESTAMP_NAME
from penstock_java.calendar import DAY, int64
from penstock_java.date_format import SimpleDateFormat, TextError
from penstock_plugins.connect.values import java_class

__all__ = ["PRECISIONS", "SCHEMAS", "TimestampFormat", "form_of_schema"]

SCHEMAS: Final[Mapping[str, Schema]] = {
    "string": STRING, "unix": INT64, "Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP,
}  # fmt: skip
"""The forms, and the schema that a value in that form has."""

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
"""Units of Unix time: what to multiply by, and what to divide by, to have millis."""


def _scale(numbers: list[int], up: int, down: int) -> list[int]:
    """As Java's `TimeUnit`: cut toward zero, and at the bounds of 64 bits."""
    if up > 1:
        if min(numbers) * up >= _LEAST and max(numbers) * up <= _GREATEST:
            return [n * up for n in numbers]
        return [min(max(n * up, _LEAST), _GREATEST) for n in numbers]
    if down > 1:
        return [n // down if n >= 0 else -(-n // down) for n in numbers]
    return list(map(int, numbers))


def form_of_schema(schema: Schema) -> str:
    """The form of values under this schema.

    Raises:
        ConnectError: there is none.
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
    """Converts values to one form.

    Args:
        target: one of `SCHEMAS`.
        precision: one of `PRECISIONS`, for Unix time that is read or written.
        pattern: how texts look; None when none was given.
    """

    def __init__(self, target: str, precision: str, pattern: str | None) -> None:
        self._target = target
        self._up, self._down = PRECISIONS[precision]
        self._pattern = pattern
        self.format: Final = None if pattern is None else SimpleDateFormat(pattern)

    def convert(self, value: Any, form: str | None) -> Any:
        """One value; null stays null.

        Args:
            value: what to convert.
            form: the form that it has; by its class when None.

        Raises:
            DataError: it is of another class, or a text that does not fit the pattern.
            TypeError: it is a text, and there is no pattern.
        """
        if value is None:
            return None
        if form is None:
            form = _form_of_class(value)
        elif type(value) not in _CLASSES[form] or (form == "unix" and not _LEAST <= value <= _GREATEST):
            raise DataError(f"Expected {_EXPECTED[form]}, but found class {java_class(None, value)}")
        return self._write(self._read([value], form))[0]

    def convert_column(self, values: Sequence[Any], form: str | None) -> list[Any]:
        """Many values of one form, or of any when None; as `convert`, which tells where one fails."""
        kinds = set(map(type, values)) - {_NULL}
        if not kinds:
            return [None] * len(values)
        there = values if type(values) is list and None not in values else [v for v in values if v is not None]
        text_to_text = str in kinds and self._target == "string"
        if (form is None and len(kinds) > 1) or (text_to_text and self._text_format().reads_zone_names):
            return [self.convert(value, form) for value in values]  # what is printed is in the zone of the text before
        if form is None:
            form = _form_of_class(there[0])
        if not kinds <= _CLASSES[form] or (form == "unix" and not _LEAST <= min(there) <= max(there) <= _GREATEST):
            raise DataError(f"Expected {_EXPECTED[form]}")
        made = self._write(self._read(there, form))
        if len(made) == len(values):
            return made
        found = iter(made)
        return [None if v is None else next(found) for v in values]

    def _read(self, values: list[Any], form: str) -> list[int]:
        if form == "string":
            try:
                return self._text_format().parse_all(values)
            except TextError:
                raise DataError(f"Could not parse timestamp: a text does not match pattern ({self._pattern})") from None
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
        # The first day of 64 bits does not begin within them; Java's sum wraps.
        return list(map(Instant, starts if min(starts) >= _LEAST else map(int64, starts)))

    def _text_format(self) -> SimpleDateFormat:
        if self.format is None:
            raise TypeError("a timestamp is a text, and TimestampConverter has no format to read it by; set 'format'")
        return self.format
