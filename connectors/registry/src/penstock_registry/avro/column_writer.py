"""Writer of columns as records.

fastavro spends most of its time at the start of each record. Here, each field is written for all records of a batch
together, by functions that run in C where Python has them, and a field with the same value in all records is written once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from operator import itemgetter
from struct import Struct, pack
from typing import Any, Final

from penstock import Same
from penstock_registry.avro.types import AvroField, AvroType

__all__ = ["WriteColumns", "column_writer"]

WriteColumns = Callable[[Mapping[str, list[Any] | Same], int], list[bytes]]
"""Function that returns records in Avro, given their columns and count. Values are in the form that fastavro takes."""
_Write = Callable[[Sequence[Any]], list[bytes]]

_BITS: Final = 14
"""Bits of a number that are written together, as two bytes."""
_MASK: Final = (1 << _BITS) - 1
_BOOLEANS: Final = (b"\0", b"\1")
_FLOAT: Final = Struct("<f").pack


def column_writer(of: AvroType) -> WriteColumns | None:
    """Return the function for a record; None if it has arrays, maps, larger unions or empty records, or contains itself."""
    if of.kind != "record" or not of.fields:
        return None
    try:
        writers = _writers(of.fields, (of,))
    except _Unsupported:
        return None

    def write_columns(columns: Mapping[str, list[Any] | Same], length: int) -> list[bytes]:
        pieces: list[bytes | list[bytes]] = []
        for name, write in writers:
            column = columns[name]
            if not isinstance(column, Same):
                pieces.append(write(column))
                continue
            (constant,) = write([column.value])
            before = pieces[-1] if pieces else None
            if isinstance(before, bytes):
                pieces[-1] = before + constant
            else:
                pieces.append(constant)
        return _rows(pieces, length)

    return write_columns


def _rows(pieces: Sequence[bytes | list[bytes]], length: int) -> list[bytes]:
    parts = [repeat(piece, length) if isinstance(piece, bytes) else piece for piece in pieces]
    return list(map(b"".join, zip(*parts, strict=True)))


class _Unsupported(Exception):
    """Raised when a type cannot be written this way."""


def _writers(fields: Sequence[AvroField], within: tuple[AvroType, ...]) -> list[tuple[str, _Write]]:
    return [(field.name, _writer(field.type, within)) for field in fields]


def _writer(of: AvroType, within: tuple[AvroType, ...]) -> _Write:
    """Return the function that writes values of a type; `within` are the records around it."""
    optional = of.optional_branch
    if optional is not None:
        null = [branch.kind for branch in of.branches].index("null")
        return _optional(_writer(optional, within), null)
    match of.kind:
        case "record" if of.fields and of not in within:
            return _record(_writers(of.fields, (*within, of)))
        case "int" | "long":
            return _numbers
        case "string":
            return lambda values: _sized(list(map(str.encode, values)))
        case "bytes":
            return _sized
        case "fixed":
            return _fixed(of.size)
        case "enum":
            numbers = {symbol: _number(2 * i) for i, symbol in enumerate(of.symbols)}
            return lambda values: [numbers[value] for value in values]
        case "double":
            return _doubles
        case "float":
            return lambda values: list(map(_FLOAT, values))
        case "boolean":
            return lambda values: [_BOOLEANS[value] for value in values]
        case _:
            raise _Unsupported


def _optional(write: _Write, null: int) -> _Write:
    absent, present = _number(2 * null), _number(2 * (1 - null))

    def write_optional(values: Sequence[Any]) -> list[bytes]:
        # As in fastavro, a value may be a pair of its type's name and the value.
        found = [value[1] if type(value) is tuple else value for value in values if value is not None]
        written: Iterator[bytes] = map(present.__add__, write(found))
        return [absent if value is None else next(written) for value in values]

    return write_optional


def _record(writers: Sequence[tuple[str, _Write]]) -> _Write:
    def write_record(records: Sequence[Any]) -> list[bytes]:
        return _rows([write(list(map(itemgetter(name), records))) for name, write in writers], len(records))

    return write_record


def _sized(values: Sequence[bytes]) -> list[bytes]:
    return list(map(bytes.__add__, map(_SIZES.__getitem__, map(len, values)), values))


def _fixed(size: int) -> _Write:
    def write_fixed(values: Sequence[bytes]) -> list[bytes]:
        if any(len(value) != size for value in values):
            raise ValueError
        return list(values)

    return write_fixed


def _doubles(values: Sequence[float]) -> list[bytes]:
    data = pack(f"<{len(values)}d", *values)
    return [data[i : i + 8] for i in range(0, len(data), 8)]


def _numbers(values: Sequence[int]) -> list[bytes]:
    more, last = _two_bytes()
    written = []
    for value in values:
        number = value << 1 if value >= 0 else ~value << 1 | 1
        if number <= _MASK:
            written.append(last[number])
        elif number < 1 << 2 * _BITS:
            written.append(more[number & _MASK] + last[number >> _BITS])
        elif number < 1 << 3 * _BITS:
            written.append(more[number & _MASK] + more[number >> _BITS & _MASK] + last[number >> 2 * _BITS])
        elif number < 1 << 64:
            written.append(_number(number))
        else:
            raise OverflowError
    return written


@cache
def _two_bytes() -> tuple[list[bytes], list[bytes]]:
    """Return the encodings of the lowest bits of a number: if more bits follow, and if none follow."""
    return [bytes((n & 127 | 128, n >> 7 | 128)) for n in range(_MASK + 1)], [_number(n) for n in range(_MASK + 1)]


def _number(number: int) -> bytes:
    """Return the variable-length encoding of a number, which is zig-zag encoded already."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


class _Sizes(dict[int, bytes]):
    """Encoded lengths of strings and bytes, cached if they are short."""

    def __missing__(self, size: int) -> bytes:
        written = _number(2 * size)
        if size <= _MASK:
            self[size] = written
        return written


_SIZES: Final = _Sizes()
