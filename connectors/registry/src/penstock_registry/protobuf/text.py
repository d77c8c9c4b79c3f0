"""Text of a .proto file, as Confluent's ProtobufSchema writes it.

A registry then recognizes schemas that Java's converters have registered.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["EnumText", "FieldText", "FileText", "MessageText", "OneofText"]


@dataclass(frozen=True, slots=True)
class FieldText:
    """Field of a message. `parameters` are those of the option `confluent.field_meta`."""

    name: str
    type: str
    number: int
    label: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()

    def lines(self) -> list[str]:
        label = f"{self.label} " if self.label else ""
        start = f"{label}{self.type} {self.name} = {self.number}"
        if not self.parameters:
            return [f"{start};"]
        entries: list[str] = []
        for index, (name, value) in enumerate(self.parameters):
            pair = [f'key: "{name}"', f'value: "{value}"']
            if name in ("precision", "scale"):  # in this order since Confluent's first version
                pair.reverse()
            more = "," if index < len(self.parameters) - 1 else ""
            entries += ["{", *_indented([f"{pair[0]},", pair[1]]), f"}}{more}"]
        listed = ["params: [", *_indented(entries), "]"]
        return [f"{start} [(confluent.field_meta) = {{", *_indented(listed), "}];"]


@dataclass(frozen=True, slots=True)
class EnumText:
    """Enum with its symbols and their numbers."""

    name: str
    symbols: tuple[tuple[str, int], ...]

    def lines(self) -> list[str]:
        return _block(f"enum {self.name}", [[f"{symbol} = {number};" for symbol, number in self.symbols]])


@dataclass(frozen=True, slots=True)
class OneofText:
    """Group of fields of which at most one is set."""

    name: str
    fields: tuple[FieldText, ...]

    def lines(self) -> list[str]:
        return _block(f"oneof {self.name}", [_together(self.fields)])


@dataclass(slots=True)
class MessageText:
    """Message with its fields and the types that it defines."""

    name: str
    fields: list[FieldText] = field(default_factory=list)
    oneofs: list[OneofText] = field(default_factory=list)
    messages: list["MessageText"] = field(default_factory=list)
    enums: list[EnumText] = field(default_factory=list)

    def lines(self) -> list[str]:
        types = [*_together(self.messages), *_together(self.enums)]
        return _block(f"message {self.name}", [_together(self.fields), _together(self.oneofs), types])


@dataclass(slots=True)
class FileText:
    """Text of a .proto file with one or more messages."""

    package: str | None
    imports: list[str] = field(default_factory=list)
    options: tuple[tuple[str, str], ...] = ()
    messages: list[MessageText] = field(default_factory=list)

    def __str__(self) -> str:
        lines = ['syntax = "proto3";']
        if self.package is not None:
            lines.append(f"package {self.package};")
        for part in (
            [f'import "{path}";' for path in self.imports],
            [f"option {name} = {value};" for name, value in self.options],
            _together(self.messages),
        ):
            if part:
                lines += ["", *part]
        return "\n".join(lines) + "\n"


def _together(elements: Iterable[FieldText | EnumText | OneofText | MessageText]) -> list[str]:
    return [line for element in elements for line in element.lines()]


def _block(head: str, parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a block, with an empty line between its parts."""
    inside: list[str] = []
    for part in parts:
        if part:
            inside += [*([""] if inside else []), *_indented(part)]
    return [f"{head} {{", *inside, "}"] if inside else [f"{head} {{}}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
