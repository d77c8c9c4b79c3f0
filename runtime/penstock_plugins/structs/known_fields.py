"""Name the fields of a struct, for messages about a field that it does not have."""

from typing import Final

from penstock import Schema

__all__ = ["known_fields"]

_MOST: Final = 10


def known_fields(schema: Schema | None) -> str:
    """Return a clause that lists the fields of a struct. Without a schema it is empty: keys of maps may be data."""
    if schema is None:
        return ""
    names = [f.name for f in schema.fields]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"; the struct has {', '.join(names[:_MOST]) or 'no fields'}{more}"
