"""Reader of records into columns.

fastavro reads one record at a time, and calls a function for each byte of a number. A function generated for the schema,
whose source has neither loops over fields nor calls for most numbers, takes less than half the time. It reads neighboring
values of a known size in one call, together with the next byte if that is the length of a string. The source contains
nothing from the schema's text: names and symbols are objects.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct
from typing import Any, Final

from penstock import DataError
from penstock_registry.avro.types import AvroField, AvroType
from penstock_registry.avro.wide_numbers import common_width, wide_numbers

__all__ = ["ReadColumns", "column_reader"]

ReadColumns = Callable[[Sequence[bytes], int], tuple[list[Any], ...]]
"""Function that returns the columns of Avro records, given messages and the position at which each message's record begins.

It raises an exception if a record does not fit its schema.
"""

_MOST_VALUES: Final = 200
"""Maximum number of values in a record: a schema that uses one of its records often could make the function very long."""
_INLINE: Final = 6
"""Length of the longest number that is read without a call: enough for a time in milliseconds."""
_LONGEST: Final = 10
_FEW: Final = 100
"""Minimum number of records for which expecting the lengths of numbers is worthwhile."""
_EXPECTED: Final = 64
"""Number of batches after which the fields with numbers of equal length are determined again."""
_MASK: Final = (1 << 64) - 1
_BYTES: Final = "uvwxy"
_FORMATS: Final = {"double": "d", "float": "f", "boolean": "?"}
"""Formats of `struct`, without padding."""


def column_reader(of: AvroType) -> ReadColumns | None:
    """Return the function for a record; None if its fields include arrays, maps or unions of several types."""
    if of.kind != "record" or not of.fields:
        return None
    try:
        read = _compiled(of, {})
    except _Unsupported:
        return None
    longs = [i for i, f in enumerate(of.fields) if (f.type.optional_branch or f.type).kind == "long"]
    return _WidthReader(of, read, longs).read if longs else read


class _WidthReader:
    """Reader that expects the numbers of a field to have equally many bytes in all records, as timestamps have.

    Args:
        of: the record.
        read: the function for numbers of any length.
        longs: indexes of its fields that are longs.
    """

    def __init__(self, of: AvroType, read: ReadColumns, longs: Iterable[int]) -> None:
        self._of = of
        self._read_any = read
        self._longs = longs
        self._widths: dict[int, int] = {}
        self._read_wide: ReadColumns | None = None
        self._batches = 0

    def read(self, data: Sequence[bytes], start: int) -> tuple[list[Any], ...]:
        """Return the columns of records."""
        if len(data) < _FEW:
            return self._read_any(data, start)
        columns = None if self._read_wide is None else _tried(self._read_wide, data, start)
        if columns is None:
            columns = self._read_any(data, start)
            self._expect(columns, self._widths)
        if self._batches % _EXPECTED == 0:
            self._expect(columns, self._longs)
        self._batches += 1
        return columns

    def _expect(self, columns: Sequence[list[Any]], among: Iterable[int]) -> None:
        """Expect the numbers of the next batches to be as wide as those of this one, where these are equally wide."""
        found = {i: common_width(columns[i]) for i in among}
        widths = {i: width for i, width in found.items() if width is not None}
        if widths != self._widths:
            self._widths = widths
            self._read_wide = _compiled(self._of, widths) if widths else None


def _tried(read: ReadColumns, data: Sequence[bytes], start: int) -> tuple[list[Any], ...] | None:
    try:
        return read(data, start)
    except Exception:  # noqa: BLE001 (a number has another length, or data is damaged: it is read again)
        return None


def _compiled(of: AvroType, widths: Mapping[int, int]) -> ReadColumns:
    """Return the function for a record, whose longs with these indexes are expected to have these widths."""
    source = _Source()
    columns = [source.value(f.type, "  ", widths.get(i)) for i, f in enumerate(of.fields)]
    source.read_sized("  ")
    made = [f"c{i}" for i in range(len(columns))]
    results = [f"wide({name}, {widths[i]})" if i in widths else name for i, name in enumerate(made)]
    lines = [
        "def read(data, start):",
        *(f" {name} = []" for name in made),
        *(f" a{name} = {name}.append" for name in made),
        " for d in data:",
        "  p = start",
        *source.lines,
        "  if p > len(d):",
        "   raise wrong",
        *(f"  a{name}({value})" for name, value in zip(made, columns, strict=True)),
        f" return {', '.join(results)},",
    ]
    exec("\n".join(lines), source.names)  # noqa: S102 (see above)
    found: ReadColumns = source.names["read"]
    return found


class _Unsupported(Exception):
    """Raised when a type cannot be read this way."""


class _Source:
    """Lines that read the values at position `p` of the bytes `d`, and the objects that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "__builtins__": {"len": len, "TypeError": TypeError},
            "sizes": [None if n & 1 or n >= 128 else n >> 1 for n in range(256)],
            "long": _long,
            "wide": wide_numbers,
            "wrong": DataError("cannot read a record as Avro"),
        }
        self._count = 0
        self._sized: list[tuple[str, str]] = []
        """Variables of values of a known size, with their formats, which are not read yet."""

    def value(self, of: AvroType, indent: str, wide: int | None = None) -> str:
        """Add lines that read a value, and return the name of its variable.

        If `wide` is not None, the lines keep a long as its `wide` encoded bytes, which are decoded later.
        """
        self._count += 1
        if self._count > _MOST_VALUES:
            raise _Unsupported
        into = f"v{self._count}"
        optional = of.optional_branch
        if optional is not None:
            null = [branch.kind for branch in of.branches].index("null")
            self.read_sized(indent)
            self._add(
                indent, "n = d[p]", "p += 1", f"if n == {2 * null}:", f" {into} = None", f"elif n == {2 - 2 * null}:"
            )
            found = self.value(optional, f"{indent} ", wide)
            self.read_sized(f"{indent} ")
            self._add(indent, f" {into} = {found}", "else:", " raise wrong")
            return into
        match of.kind:
            case "record":
                self._record(of.fields, into, indent)
            case "long" if wide is not None:
                self._sized.append((into, f"{wide}s"))
            case "int" | "long":
                self.read_sized(indent)
                self._number(indent, _INLINE)
                self._add(indent, f"{into} = -(n + 1 >> 1) if n & 1 else n >> 1")
            case "string" | "bytes":
                decoded = ".decode()" if of.kind == "string" else ""
                self._sized.append(("n", "B"))
                self.read_sized(indent)
                self._add(indent, "try:", " q = p + sizes[n]", "except TypeError:", " p -= 1")  # a long string
                self._size(f"{indent} ")
                self._add(indent, " q = p + (n >> 1)", f"{into} = d[p:q]{decoded}", "p = q")
            case "enum":
                self.read_sized(indent)
                self._size(indent)
                self._add(indent, f"{into} = {self._constant(of.symbols)}[n >> 1]")
            case "fixed" | "double" | "float" | "boolean":
                self._sized.append((into, f"{int(of.size)}s" if of.kind == "fixed" else _FORMATS[of.kind]))
            case _:
                raise _Unsupported
        return into

    def read_sized(self, indent: str) -> None:
        """Add lines that read the values of a known size which are not read yet."""
        if self._sized:
            sized = Struct("<" + "".join(form for _, form in self._sized))
            names = "".join(f"{name}, " for name, _ in self._sized)
            self._add(indent, f"{names}= {self._constant(sized.unpack_from)}(d, p)", f"p += {sized.size}")
            self._sized.clear()

    def _record(self, fields: Sequence[AvroField], into: str, indent: str) -> None:
        made = [f"{self._constant(f.name)}: {self.value(f.type, indent)}" for f in fields]
        self.read_sized(indent)
        self._add(indent, f"{into} = {{{', '.join(made)}}}")

    def _size(self, indent: str) -> None:
        """Add lines that read a non-negative number into `n`, as twice its value."""
        self._number(indent, 2)
        self._add(indent, "if n & 1:", " raise wrong")

    def _number(self, indent: str, inline: int) -> None:
        """Add lines that read a number into `n` as it is stored: the sum of its bytes, without their continuation bits."""
        self._add(indent, "n = d[p]", "if n < 128:", " p += 1")
        for more in range(1, inline):
            total = " + ".join(f"({name} << {7 * i})" for i, name in enumerate(_BYTES[:more], 1))
            marks = sum(128 << 7 * i for i in range(more))
            last = _BYTES[more - 1]
            self._add(indent, f"elif ({last} := d[p + {more}]) < 128:", f" n += {total} - {marks}", f" p += {more + 1}")
        self._add(indent, "else:", " n, p = long(d, p)")

    def _constant(self, value: object) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def _add(self, indent: str, *lines: str) -> None:
        self.lines += [indent + line for line in lines]


def _long(data: bytes, start: int) -> tuple[int, int]:
    """Return a number as it is stored, and the position after it."""
    number = 0
    for i in range(_LONGEST):
        byte = data[start + i]
        number |= (byte & 0x7F) << 7 * i
        if byte < 128:
            return number & _MASK, start + i + 1
    raise DataError("cannot read a number of more than 64 bits")
