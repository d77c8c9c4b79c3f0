"""Cache of values that a transform computes from a schema."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from penstock import Schema

__all__ = ["SchemaCache"]

T = TypeVar("T")

_MAX_SCHEMAS: Final = 256


class SchemaCache(Generic[T]):
    """Cache of the results of a function of a schema, at most 256. Errors are not cached.

    Hashing a schema hashes all of its fields, and usually the same schema occurs many times in a row: the last one is
    recognized by identity.
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
            result = self._known[schema]
        else:
            result = self._make(schema)
            if len(self._known) >= _MAX_SCHEMAS:  # a source may create new schemas forever
                self._known.clear()
            self._known[schema] = result
        self._last = (schema, result)
        return result
