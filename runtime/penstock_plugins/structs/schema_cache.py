"""What a transform works out once for each schema that it meets."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from penstock import Schema

__all__ = ["SchemaCache"]

T = TypeVar("T")

_MAX_SCHEMAS: Final = 256


class SchemaCache(Generic[T]):
    """Results of a function of a schema. What the function raises is raised again each time.

    Schemas come in runs, and hashing one means hashing all of its fields: the last one is known by identity.
    """

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._known: dict[Schema, T] = {}
        self._last: tuple[Schema, T] | None = None

    def __getitem__(self, schema: Schema) -> T:
        last = self._last
        if last is not None and last[0] is schema:
            return last[1]
        if schema in self._known:
            found = self._known[schema]
        else:
            found = self._make(schema)
            if len(self._known) >= _MAX_SCHEMAS:  # a source that makes schemas without end
                self._known.clear()
            self._known[schema] = found
        self._last = (schema, found)
        return found
