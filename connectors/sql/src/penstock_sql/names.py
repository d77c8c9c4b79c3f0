"""Names of tables."""

from typing import Final, NamedTuple

from penstock import DataError

__all__ = ["OFFSETS", "TableName", "table_name"]

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
    parts, quoted = [""], False
    text = form.replace("${topic}", topic.replace('"', '""') if '"' in form else topic)
    plain = '"' not in form
    at = 0
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
    if len(parts) > 2 or not all(parts) or quoted:
        raise DataError(
            f"{property_name} {form!r} makes {text!r} of topic {topic}, which is no table: one point parts a schema from "
            "a table. Put the part with points into quotation marks, or change the topic by the transform RegexRouter"
        )
    return TableName(parts[0], parts[1]) if len(parts) == 2 else TableName(None, parts[0])
