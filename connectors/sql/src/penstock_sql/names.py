"""Names of tables."""

from typing import Final, NamedTuple

from penstock import DataError

__all__ = ["OFFSETS", "TableName", "names_of", "parts_of", "table_name"]

OFFSETS: Final = "penstock_offsets"
"""Table of offsets. Records must not be written to it."""


class TableName(NamedTuple):
    """Name of a table, in a schema or in the database's default search path."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        """Return the name as users write it."""
        return ".".join(f'"{part}"' if "." in part or "," in part else part for part in self if part is not None)


def table_name(form: str, topic: str, property_name: str = "table.name.format") -> TableName:
    """Return the table of a topic.

    Args:
        form: the format of table names.
        topic: the topic.
        property_name: the property with the format, for messages.

    Raises:
        DataError: no table can have that name.
    """
    text = form.replace("${topic}", topic.replace('"', '""') if '"' in form else topic)
    parts = parts_of(text, '"' if '"' in form else "")
    if parts is None or len(parts) > 2:
        raise DataError(
            f"cannot derive a table name from topic {topic}: {property_name} {form!r} results in {text!r}, which is not a "
            "table name: one dot separates the schema from the table; quote the part that contains dots, or change the "
            "topic with the transform RegexRouter"
        )
    return TableName(parts[0], parts[1]) if len(parts) == 2 else TableName(None, parts[0])


def parts_of(text: str, quotes: str = '"') -> list[str] | None:
    """Split a name at its dots, except those within quotation marks; return None if it cannot be parsed.

    Args:
        text: the name.
        quotes: the characters that quote; all others are ordinary characters.
    """
    pieces = _pieces(text, ".", quotes)
    parts = None if pieces is None else [_unquoted(piece, quotes) for piece in pieces]
    return parts if parts is not None and all(parts) else None


def names_of(text: str, quotes: str = '"') -> list[str]:
    """Split a list of names at its commas, except those within quotation marks.

    A list with an unclosed quotation mark is returned as one name.
    """
    pieces = _pieces(text, ",", quotes)
    return [text] if pieces is None else [piece.strip() for piece in pieces] if text else []


def _pieces(text: str, at: str, quotes: str) -> list[str] | None:
    """Split a string at a character outside of quotation marks; return None if a quotation mark is not closed."""
    pieces, quote = [""], ""
    for letter in text:
        if letter == at and not quote:
            pieces.append("")
            continue
        if letter in quotes and quote in ("", letter):
            quote = "" if quote else letter  # a doubled mark ends the quotation and starts a new one
        pieces[-1] += letter
    return None if quote else pieces


def _unquoted(text: str, quotes: str) -> str:
    """Return a part of a name without its quotation marks."""
    name, quote, at = "", "", 0
    while at < len(text):
        letter = text[at]
        if quote and text[at : at + 2] == quote * 2:
            name += letter
            at += 1
        elif letter in quotes and quote in ("", letter):
            quote = "" if quote else letter
        else:
            name += letter
        at += 1
    return name
