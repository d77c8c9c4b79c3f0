"""Names of tables."""

from typing import Final, NamedTuple

from penstock import DataError

__all__ = ["OFFSETS", "TableName", "parts_of", "table_name"]

OFFSETS: Final = "penstock_offsets"
"""The table of offsets, which no record may be written to."""


class TableName(NamedTuple):
    """A table, in a schema or where the database looks by itself."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        """As people write it."""
        return ".".join(f'"{part}"' if "." in part else part for part in self if part is not None)


def table_name(form: str, topic: str, property_name: str = "table.name.format") -> TableName:
    """The table of a topic.

    Args:
        form: its format.
        topic: the topic.
        property_name: what users call the format.

    Raises:
        DataError: no table can have that name.
    """
    text = form.replace("${topic}", topic.replace('"', '""') if '"' in form else topic)
    parts = parts_of(text, plain='"' not in form)
    if parts is None or len(parts) > 2:
        raise DataError(
            f"{property_name} {form!r} makes {text!r} of topic {topic}, which is no table: one point parts a schema from "
            "a table. Put the part with points into quotation marks, or change the topic by the transform RegexRouter"
        )
    return TableName(parts[0], parts[1]) if len(parts) == 2 else TableName(None, parts[0])


def parts_of(text: str, *, plain: bool = False) -> list[str] | None:
    """Split a name at its dots, except those within quotation marks; None if it cannot be read.

    Args:
        text: the name.
        plain: quotation marks are letters like others.
    """
    parts, quoted, at = [""], False, 0
    while at < len(text):
        letter = text[at]
        if letter == '"' and not plain:
            if quoted and text[at + 1 : at + 2] == '"':
                parts[-1] += '"'
                at += 1
            else:
                quoted = not quoted
        elif letter == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
        at += 1
    return None if quoted or not all(parts) else parts
