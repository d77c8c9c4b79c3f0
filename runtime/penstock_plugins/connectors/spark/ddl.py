"""Parser of Spark's DDL for schemas (`id bigint, tags array<string>`). PySpark's own parser needs a Spark session."""

import re
from typing import TYPE_CHECKING, Final

from penstock import ConnectError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

__all__ = ["parse_ddl"]

_TOKEN: Final = re.compile(r"\s*(?:`((?:[^`]|``)*)`|'((?:[^'\\]|\\.)*)'|([A-Za-z_0-9]+)|([<>(),:]))")


def parse_ddl(ddl: str) -> "StructType":
    """Return the struct type that `ddl` describes, with or without `struct<..>` around it.

    Raises:
        ConnectError: `ddl` is not valid, or contains an unsupported type.
    """
    from pyspark.sql.types import StructType

    parser = _Parser(ddl)
    if parser.next_word() == "struct" and parser.peek(1) == "<":
        kind = parser.type()
        assert isinstance(kind, StructType)
    else:
        kind = parser.fields()
    parser.expect(None)
    return kind


class _Parser:
    """Recursive descent parser. Tokens are pairs: the text, and whether it was quoted."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._tokens: list[tuple[str, bool]] = []
        self._at = 0
        at, ddl = 0, ddl.rstrip()
        while at < len(ddl):
            match = _TOKEN.match(ddl, at)
            if match is None:
                raise ConnectError(f"cannot parse schema {self._ddl!r}: unexpected {ddl[at:].strip()!r}")
            name, text, word, sign = match.groups()
            if name is not None:
                self._tokens.append((name.replace("``", "`"), True))
            elif text is not None:
                self._tokens.append((re.sub(r"\\(.)", r"\1", text), True))
            else:
                self._tokens.append((word or sign, False))
            at = match.end()

    def peek(self, ahead: int = 0) -> str | None:
        """Return the token at this distance; None if it is quoted, or at the end."""
        token = self._tokens[self._at + ahead] if self._at + ahead < len(self._tokens) else ("", True)
        return None if token[1] else token[0]

    def next_word(self) -> str:
        """Return the next token in lower case; empty if it is quoted, or at the end."""
        return (self.peek() or "").lower()

    def take(self) -> str:
        """Take the next token, quoted or not."""
        if self._at == len(self._tokens):
            raise ConnectError(f"cannot parse schema {self._ddl!r}: unexpected end")
        self._at += 1
        return self._tokens[self._at - 1][0]

    def expect(self, sign: str | None) -> None:
        """Take the sign, which must come next; None means the end."""
        if sign is None and self._at == len(self._tokens):
            return
        if sign is None or self.peek() != sign:
            token = self._tokens[self._at][0] if self._at < len(self._tokens) else "the end"
            raise ConnectError(f"cannot parse schema {self._ddl!r}: expected {sign or 'the end'}, found {token}")
        self._at += 1

    def optional(self, *words: str) -> bool:
        """Take these words if they come next. Return whether they did."""
        if [(self.peek(i) or "").lower() for i in range(len(words))] != list(words):
            return False
        self._at += len(words)
        return True

    def fields(self) -> "StructType":
        """Parse fields up to the end or a closing bracket."""
        from pyspark.sql.types import StructField, StructType

        struct = StructType([])
        while True:
            name = self.take()
            self.optional(":")
            kind = self.type()
            required = self.optional("not", "null")
            comment = {"comment": self.take()} if self.optional("comment") else None
            struct = StructType([*struct.fields, StructField(name, kind, not required, comment)])
            if not self.optional(","):
                return struct

    def type(self) -> "DataType":
        """Parse a type."""
        from pyspark.sql import types as t

        name = self.take().lower()
        match name:
            case "array":
                self.expect("<")
                items = self.type()
                self.expect(">")
                return t.ArrayType(items)
            case "map":
                self.expect("<")
                keys = self.type()
                self.expect(",")
                values = self.type()
                self.expect(">")
                return t.MapType(keys, values)
            case "struct":
                self.expect("<")
                fields = t.StructType([]) if self.peek() == ">" else self.fields()
                self.expect(">")
                return fields
            case "decimal" | "dec" | "numeric":
                numbers = self._numbers()
                return t.DecimalType(*(int(n) for n in numbers)) if numbers else t.DecimalType(10, 0)
            case "varchar" | "char" | "character":
                self._numbers()
                return t.StringType()
            case _:
                return self._simple(name)

    def _simple(self, name: str) -> "DataType":
        from pyspark.sql import types as t

        simple: dict[str, type[DataType]] = {
            "tinyint": t.ByteType,
            "byte": t.ByteType,
            "smallint": t.ShortType,
            "short": t.ShortType,
            "int": t.IntegerType,
            "integer": t.IntegerType,
            "bigint": t.LongType,
            "long": t.LongType,
            "float": t.FloatType,
            "real": t.FloatType,
            "double": t.DoubleType,
            "boolean": t.BooleanType,
            "string": t.StringType,
            "binary": t.BinaryType,
            "date": t.DateType,
            "timestamp": t.TimestampType,
            "timestamp_ltz": t.TimestampType,
            "timestamp_ntz": t.TimestampNTZType,
            "void": t.NullType,
        }
        if name not in simple:
            raise ConnectError(f"cannot parse schema {self._ddl!r}: type {name} is not supported")
        return simple[name]()

    def _numbers(self) -> list[str]:
        numbers: list[str] = []
        if self.optional("("):
            numbers.append(self.take())
            while self.optional(","):
                numbers.append(self.take())
            self.expect(")")
        return numbers
