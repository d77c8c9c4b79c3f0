"""Read and write the parts of a Connector's status that are defined as dataclasses. Pure.

A field `retry_at` is `retryAt` in the status. A field of type `float` is a time: seconds since 1970 in the class, and a
timestamp in Kubernetes' format in the status. A field without a value is not written; an absent field gets its default when
it is read. A field of a newer release is not read, and server-side apply removes it with the next write.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from pydantic.alias_generators import to_camel

from penstock_operator.kubernetes.times import instant, timestamp

__all__ = ["in_status", "read", "without_empty", "write", "write_own"]

T = TypeVar("T")
Convert = Callable[[Any], Any]


class _Field(NamedTuple):
    """Field: its names in the class and the status, its conversions, and whether only the operator uses it."""

    attribute: str
    name: str
    read: Convert
    write: Convert
    is_own: bool = False


def in_status(**differs: Any) -> dict[str, Any]:
    """Return the metadata of a dataclass field with another name, conversion or use than the default.

    Args:
        differs: `name`, `read`, `write` or `is_own` of `_Field`.
    """
    return differs


def read(part: type[T], status: Mapping[str, Any]) -> T:
    """Return a part of a status as an instance of its dataclass."""
    there = (f for f in _fields(part) if status.get(f.name) not in (None, ""))  # type: ignore[arg-type]
    return part(**{f.attribute: f.read(status[f.name]) for f in there})


def write(part: object) -> dict[str, Any]:
    """Return the fields of a part for the status, without those that only the operator uses."""
    return _written(part, is_own=False)


def write_own(part: object) -> dict[str, Any]:
    """Return the fields of a part that only the operator uses."""
    return _written(part, is_own=True)


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that have a value; empty values would only clutter the applied object."""
    return {name: value for name, value in values.items() if value}


def _written(part: object, *, is_own: bool) -> dict[str, Any]:
    columns = (f for f in _fields(type(part)) if f.is_own is is_own)  # type: ignore[arg-type]
    return without_empty({f.name: f.write(getattr(part, f.attribute)) for f in columns})


def _same(value: Any) -> Any:
    return value


def _written_time(seconds: float | None) -> str | None:
    return timestamp(seconds) if seconds else None


_BY_TYPE: Final[Mapping[Any, tuple[Convert, Convert]]] = {
    float: (instant, _written_time),
    float | None: (instant, _written_time),
    str: (_same, str),  # a `Reason` is written as a plain string
}


@cache
def _fields(part: Any) -> tuple[_Field, ...]:
    columns = []
    for field in fields(part):
        reader, writer = _BY_TYPE.get(field.type, (_same, _same))
        values = {"name": to_camel(field.name), "read": reader, "write": writer, **field.metadata}
        columns.append(_Field(field.name, **values))
    return tuple(columns)
