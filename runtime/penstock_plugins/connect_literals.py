"""Values as literals and back: `org.apache.kafka.connect.data.Values`, as headers are written and guessed."""

import base64
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from penstock import DataError, Float32, Instant, Int8, Int16, Int32, Int64, Schema, Type
from penstock.schema import BOOLEAN, DATE, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, STRING, TIME, TIMESTAMP, decimal
from penstock_plugins.connect_values import BOUNDS, java_class
from penstock_plugins.java_calendar import DAY, civil, millis_of
from penstock_plugins.java_text import text as java_text
from penstock_plugins.json_nodes import float32_of, float64_of

__all__ = ["parsed", "shown"]

_Typed = tuple[Schema | None, Any]
_TOKEN: Final = re.compile(r'[:,{}\[\]"]')
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_DATE: Final = re.compile(r"[ \t]*(-?\d+)-[ \t]*(-?\d+)-[ \t]*(-?\d+)")
_TIME: Final = re.compile(r"[ \t]*(-?\d+):[ \t]*(-?\d+):[ \t]*(-?\d+)\.[ \t]*(-?\d+)Z")
_TIMESTAMP: Final = re.compile(_DATE.pattern + "T" + _TIME.pattern)
_WIDTHS: Final = ((INT8, Int8), (INT16, Int16), (INT32, Int32), (INT64, Int64))
_NUMBERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_BLANK: Final = "".join(map(chr, range(33)))  # what Java's trim cuts


def shown(schema: Schema | None, value: Any, *, inside: bool = False) -> str:
    """The literal of a value: texts bare on the outside, quoted and escaped in lists and maps.

    Raises:
        DataError: the value is of no class that Connect writes.
    """
    match value:
        case None:
            return "null"
        case str():
            if not inside:
                return value
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case Instant():
            return _instant(value)
        case bool() | int() | float() | Decimal():
            return java_text(schema, value)
        case bytes():
            text = base64.b64encode(value).decode()
            return f'"{text}"' if inside else text
        case list() | tuple():
            items = schema.items if schema is not None else None
            return f"[{','.join(shown(items, v, inside=True) for v in value)}]"
        case dict():
            return "{" + ",".join(f"{k}:{v}" for k, v in _entries(schema, value)) + "}"
        case _:
            pass
    raise DataError(f"Failed to serialize unexpected value type {java_class(schema, value)}: {value}")


def _entries(schema: Schema | None, value: dict[Any, Any]) -> Iterable[tuple[str, str]]:
    if schema is not None and schema.type is Type.STRUCT:
        for field in schema.fields:
            item = value.get(field.name)
            item = field.schema.default if item is None else item
            yield shown(None, field.name, inside=True), shown(field.schema, item, inside=True)
        return
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    for key, item in value.items():
        yield shown(keys, key, inside=True), shown(values, item, inside=True)


def _instant(millis: int) -> str:
    """By the moment alone: times below one day after the epoch, dates on whole days, else both."""
    t = civil(millis)
    clock = f"{t.hour:02}:{t.minute:02}:{t.second:02}.{t.milli:03}Z"
    day = f"{t.year_of_era:04}-{t.month:02}-{t.day:02}"
    if millis < DAY:
        return clock
    return day if millis % DAY == 0 else f"{day}T{clock}"


def parsed(text: str) -> _Typed:
    """The schema and value that a text suggests; what is no literal is a string."""
    if not text:
        return STRING, text
    found = _Parser(text).parse(inside=False)
    return (None, None) if found is None else found


class _NotALiteralError(Exception):
    """A list or map that is none; the whole text is then a string."""


class _Parser:
    """`Values.Parser` and `Values.ValueParser`: tokens end at each of `: , { } [ ] "` that no backslash precedes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._next: str | None = None
        self._previous: str | None = None

    def parse(self, *, inside: bool) -> _Typed | None:
        """One value; None for null."""
        if not self._has_next():
            return None
        if inside and self._consume('"'):
            return self._quoted()
        if self._word("null", inside=inside):
            return None
        if self._word("true", inside=inside):
            return BOOLEAN, True
        if self._word("false", inside=inside):
            return BOOLEAN, False
        start = self._mark()
        try:
            if self._consume("["):
                return self._list()
            if self._consume("{"):
                return self._map()
        except (_NotALiteralError, DataError):
            self._rewind(start)
        token = self._take()
        if not token.strip():
            return STRING, token
        return self._plain(token.strip(_BLANK), inside=inside)

    # Tokens

    def _has_next(self) -> bool:
        return self._next is not None or self._at < len(self._text)

    def _take(self) -> str:
        token = self._next if self._next is not None else self._token()
        self._next = None
        self._previous = token
        return token

    def _take_more(self, count: int) -> str | None:
        start = self._mark()
        for _ in range(count):
            if not self._has_next():
                self._rewind(start)
                return None
            self._take()
        return self._text[start : self._at]

    def _mark(self) -> int:
        return self._at - len(self._next or "")

    def _rewind(self, at: int) -> None:
        self._at = at
        self._next = None
        self._previous = None

    def _consume(self, expected: str) -> bool:
        if self._next is None:
            if not self._has_next():
                return False
            self._next = self._token()
        while not self._next.strip() and self._at < len(self._text):
            self._next = self._token()
        if self._next.strip(_BLANK) != expected:
            return False
        self._previous = self._next
        self._next = None
        return True

    def _word(self, expected: str, *, inside: bool) -> bool:
        """Whether a word stands here; on the outside it has to stand alone."""
        start = self._mark()
        if self._consume(expected) and (inside or not self._has_next()):
            return True
        self._rewind(start)
        return False

    def _token(self) -> str:
        start = at = self._at
        escaped = False
        while at < len(self._text):
            char = self._text[at]
            if char == "\\":
                escaped = not escaped
            elif _TOKEN.match(char) and not escaped:
                self._at = at if start < at else at + 1
                return self._text[start : self._at]
            else:
                escaped = False
            at += 1
        self._at = at
        return self._text[start:]

    # Values

    def _plain(self, token: str, *, inside: bool) -> _Typed:
        digit = token[:1].isdigit()
        if digit:
            at = self._mark()
            more = self._take_more(4)
            if more is not None and (moment := _moment(token + more)) is not None:
                return moment
            self._rewind(at)
            if (moment := _moment(token)) is not None:
                return moment
        if (digit or token[:1] in ("+", "-")) and (number := _number(token)) is not None:
            return number
        if inside:
            raise _NotALiteralError
        return STRING, self._text

    def _quoted(self) -> _Typed:
        pieces: list[str] = []
        while self._has_next() and not self._consume('"'):
            pieces.append(self._take())
        content = "".join(pieces)
        return _moment(content) or (STRING, content)

    def _list(self) -> _Typed:
        items: list[_Typed | None] = []
        common = _Common()
        while self._has_next():
            if self._consume("]"):
                schema = common.schema
                values = [None if i is None else i[1] for i in items]
                if schema is not None and common.compatible:
                    values = [_aligned(schema, i) for i in items]
                return Schema(Type.ARRAY, items=schema if common.compatible else None), values
            if self._consume(","):
                raise _NotALiteralError
            item = self.parse(inside=True)
            common.add(item)
            items.append(item)
            at = self._mark()
            if self._consume("]"):
                self._rewind(at)
            elif not self._consume(","):
                raise _NotALiteralError
        raise _NotALiteralError

    def _map(self) -> _Typed:
        entries: list[tuple[_Typed, _Typed | None]] = []
        keys, values = _Common(), _Common()
        while self._has_next():
            if self._consume("}"):
                key_schema = keys.schema if keys.compatible else None
                value_schema = values.schema if values.compatible and key_schema is not None else None
                schema = Schema(Type.MAP, keys=key_schema, values=value_schema)
                return schema, {
                    _aligned(key_schema, k): _aligned(value_schema, v) for k, v in dict(_by_value(entries)).values()
                }
            if self._consume(","):
                raise _NotALiteralError
            key = self.parse(inside=True)
            if key is None or key[1] is None or not self._consume(":"):
                raise _NotALiteralError
            value = self.parse(inside=True)
            entries.append((key, value))
            self._consume(",")
            keys.add(key)
            values.add(value)
        raise _NotALiteralError


def _by_value(entries: list[tuple[_Typed, _Typed | None]]) -> Iterable[tuple[Any, tuple[_Typed, _Typed | None]]]:
    """Later entries of one key win, and Java's 1 of one width is not its 1 of another."""
    for key, value in entries:
        if isinstance(key[1], (list, dict)):
            raise _NotALiteralError  # a list or map cannot be a key here
        yield (key[0], key[1]), (key, value)


class _Common:
    """The schema that all values of a list can have (`commonSchemaFor`)."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self.compatible = True

    def add(self, item: _Typed | None) -> None:
        if item is None or item[0] is None:
            return
        new = item[0]
        old = self.schema
        if old is None or old.type is new.type:
            self.schema = new
        elif old.type in _NUMBERS and new.type in _NUMBERS:
            self.schema = max(old, new, key=lambda s: _NUMBERS.index(s.type))
        else:
            self.schema = None
            self.compatible = False


def _aligned(schema: Schema | None, item: _Typed | None) -> Any:
    value = None if item is None else item[1]
    if schema is None:
        return value
    if value is None or item is None:
        raise _NotALiteralError
    if item[0] == schema or schema.type in (Type.ARRAY, Type.MAP, Type.STRING, Type.BOOLEAN, Type.BYTES):
        return value
    if isinstance(value, Instant):
        if schema.name is None:
            raise _NotALiteralError
        return value
    if schema.name is not None:
        return _as_moment(schema, int(value))
    if schema.type in BOUNDS:
        return {s.type: c for s, c in _WIDTHS}[schema.type](value)
    return Float32(float32_of(int(value))) if schema.type is Type.FLOAT32 else float(value)


def _as_moment(schema: Schema, number: int) -> Instant:
    return Instant(number * DAY if schema == DATE else number)


def _moment(text: str) -> _Typed | None:
    """A date, time or timestamp by its length; fields out of range roll over."""
    text = text.replace("\\:", ":")
    if len(text) == 10 and (found := _DATE.match(text)):
        year, month, day = map(int, found.groups())
        return DATE, Instant(millis_of(year, month, day))
    if len(text) == 13 and (found := _TIME.match(text)):
        hour, minute, second, milli = map(int, found.groups())
        return TIME, Instant(millis_of(1970, 1, 1, hour, minute, second, milli))
    if len(text) == 24 and (found := _TIMESTAMP.match(text)):
        year, month, day, hour, minute, second, milli = map(int, found.groups())
        return TIMESTAMP, Instant(millis_of(year, month, day, hour, minute, second, milli))
    return None


def _number(token: str) -> _Typed | None:
    """The smallest integer type that holds it, else float32 and float64 when finite, else Decimal."""
    if not _NUMBER.fullmatch(token):
        return None
    try:
        number = Decimal(token)
    except InvalidOperation:  # an exponent beyond Java's as well
        return None
    exponent = int(number.as_tuple().exponent)
    if not -(2**31) < exponent <= 2**31:
        return None
    if number.adjusted() < 20 and number == number.to_integral_value():
        whole = int(number)
        for schema, width in _WIDTHS:
            low, high = BOUNDS[schema.type]
            if low <= whole <= high:
                return schema, width(whole)
    number = number or abs(number)
    if exponent != 0:
        near = float32_of(number)
        if abs(near) != float("inf"):
            return FLOAT32, Float32(near)
        near = float64_of(number)
        if abs(near) != float("inf"):
            return FLOAT64, near
    return decimal(-exponent), number
