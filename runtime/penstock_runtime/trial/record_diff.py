"""Changes of a record by a transform, part by part, as lines."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from penstock import Header, Record, Schema, Type
from penstock_runtime.trial.record_format import attributes, schema_text, type_text, value_text

__all__ = ["changed_parts", "changes"]

_LONG: Final = 160
_SINGLE: Final = ("topic", "partition", "timestamp")


def changed_parts(before: Record, after: Record) -> list[str]:
    """Return the parts that differ, by their names in JSON."""
    found = [name for name in _SINGLE if getattr(before, name) != getattr(after, name)]
    for side in ("key", "value"):
        old, new = getattr(before, f"{side}_schema"), getattr(after, f"{side}_schema")
        if any(_values(side, old, getattr(before, side), new, getattr(after, side))):
            found.append(side)
        if not _same_schema(old, new):
            found.append(f"{side}Schema")
    if any(_headers(before.headers, after.headers)):
        found.append("headers")
    return found


def changes(before: Record, after: Record) -> list[str]:
    """Return lines that begin with `+` (added), `-` (removed) or `~` (changed); none if both records are equal."""
    found = [
        f"~ {name}  {_word(getattr(before, name))} -> {_word(getattr(after, name))}"
        for name in _SINGLE
        if getattr(before, name) != getattr(after, name)
    ]
    for side in ("key", "value"):
        old, new = getattr(before, f"{side}_schema"), getattr(after, f"{side}_schema")
        lines_by_path = dict(_values(side, old, getattr(before, side), new, getattr(after, side)))
        found += lines_by_path.values()
        if not _same_schema(old, new):
            found += _schemas(side, old, new, lines_by_path)
    return [*found, *_headers(before.headers, after.headers)]


def _values(
    path: str, old_schema: Schema | None, old: Any, schema: Schema | None, new: Any
) -> Iterator[tuple[str, str]]:
    """Yield lines by path. Structs and maps are compared field by field."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{_name(key)}"
            if key not in new:
                yield inner, f"- {inner}"
            elif key not in old:
                kind = _inner(schema, key)
                suffix = f" ({type_text(kind)})" if kind is not None else ""
                yield inner, f"+ {inner}  {_short(new[key], kind)}{suffix}"
            else:
                yield from _values(inner, _inner(old_schema, key), old[key], _inner(schema, key), new[key])
        return
    was, now = value_text(old_schema, old), value_text(schema, new)
    if was != now:
        yield path, f"~ {path}  {_cut(was)} -> {_cut(now)}"


def _inner(schema: Schema | None, key: Any) -> Schema | None:
    if schema is None:
        return None
    if schema.type is Type.STRUCT:
        found = schema.field(key) if isinstance(key, str) else None
        return found.schema if found is not None else None
    return schema.values


def _same_schema(old: Schema | None, new: Schema | None) -> bool:
    # For `==` a default of 1 equals one of True or 1.0.
    return old == new and (old is None or new is None or repr(old) == repr(new))


def _schemas(path: str, old: Schema | None, new: Schema | None, lines_by_path: dict[str, str]) -> list[str]:
    found = list(_schema_lines(path, old, new, lines_by_path))
    if found or any(line.startswith(("+", "-")) for line in lines_by_path.values()):
        return found
    return [f"~ schema of {path}  {_cut(str(schema_text(old)))} -> {_cut(str(schema_text(new)))}"]


def _schema_lines(path: str, old: Schema | None, new: Schema | None, lines_by_path: dict[str, str]) -> Iterator[str]:
    if _same_schema(old, new) or lines_by_path.get(path, "~")[0] in "+-":
        return
    if old is None or new is None or not (old.type is new.type is Type.STRUCT):
        was, now = type_text(old), type_text(new)
        if was != now:
            yield f"~ schema of {path}  {_cut(was)} -> {_cut(now)}"
        return
    was, now = (("optional" if s.optional else "required") + attributes(s) for s in (old, new))
    if was != now:
        yield f"~ schema of {path}  {was} -> {now}"
    for name in dict.fromkeys(f.name for f in (*old.fields, *new.fields)):
        inner = f"{path}.{_name(name)}"
        left, right = old.field(name), new.field(name)
        if left is not None and right is not None:
            yield from _schema_lines(inner, left.schema, right.schema, lines_by_path)
        elif inner not in lines_by_path:
            yield f"+ schema of {inner}  {type_text(right.schema)}" if right is not None else f"- schema of {inner}"


def _headers(old: tuple[Header, ...], new: tuple[Header, ...]) -> list[str]:
    was, now = [_header(h) for h in old], [_header(h) for h in new]
    if was == now:
        return []
    gone, come = Counter(was) - Counter(now), Counter(now) - Counter(was)
    lines = [f"- header {text}" for text in gone.elements()] + [f"+ header {text}" for text in come.elements()]
    return lines or ["~ headers  in another order"]


def _header(header: Header) -> str:
    kind = f" ({type_text(header.schema)})" if header.schema is not None else ""
    return f"{_name(header.name)}  {_cut(value_text(header.schema, header.value))}{kind}"


def _name(key: Any) -> str:
    """Return a step of a path, in backticks if it has characters such as dots."""
    text = key if isinstance(key, str) else value_text(None, key)
    return text if re.fullmatch(r"[\w$-]+", text) else f"`{text}`"


def _short(value: Any, schema: Schema | None = None) -> str:
    return _cut(value_text(schema, value))


def _word(value: str | int | None) -> str:
    text = "null" if value is None else str(value)
    return text if text and text.isprintable() else value_text(None, text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}... ({len(text)} characters)"
