"""DropHeaders: remove headers by name."""

from operator import attrgetter
from typing import Final

from penstock import Config, Header, Importance, Record, RecordBatch, Transform, prop
from penstock_plugins.structs.field_names import NonEmptyDistinctNames

__all__ = ["DropHeaders"]

_NAME_OF: Final = attrgetter("name")


class DropHeadersConfig(Config):
    headers: NonEmptyDistinctNames = prop(
        "headers", doc="The name of the headers to be removed.", importance=Importance.HIGH
    )


class DropHeaders(Transform):
    """Remove every header with one of the names from each record; the others keep their order."""

    Config = DropHeadersConfig
    java_names = ("org.apache.kafka.connect.transforms.DropHeaders",)

    def configure(self, config: DropHeadersConfig) -> None:
        self._names = frozenset(config.headers)

    def apply(self, record: Record) -> Record:
        """Return the record without the headers of these names."""
        headers = self._remaining(record.headers)
        return record if headers is record.headers else record.replace(headers=headers)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return batch.without_headers(self._names)

    def _remaining(self, headers: tuple[Header, ...]) -> tuple[Header, ...]:
        names = self._names
        if names.isdisjoint(map(_NAME_OF, headers)):
            return headers
        return tuple([h for h in headers if h.name not in names])
