"""Client of the schema registry, with explanations of its errors."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from cachetools import LRUCache
from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaRegistryClient
from httpx2 import InvalidURL

from penstock import ConfigError, DataError, Problem
from penstock_registry.call_errors import Calls
from penstock_registry.config import RegistryConfig
from penstock_registry.references import Reference, collect_references
from penstock_registry.urls import without_password
from penstock_registry.wire import Id, shown

__all__ = ["Found", "Registry"]

_Key = tuple[str, str | None, int | None]
"""Name, subject and version of a reference."""

_OFF: Final = " (auto.register.schemas=false: the schema must be registered already)"


@dataclass(frozen=True, slots=True)
class Found:
    """Schema of the registry.

    Attributes:
        id: its id; the GUID for a `Registry` of GUIDs.
        kind: `AVRO`, `JSON` or `PROTOBUF`.
        text: the schema.
        references: its direct and indirect references, each after its own references.
    """

    id: Id
    kind: str
    text: str
    references: tuple[Reference, ...] = ()


class Registry:
    """Client of the registry. It caches a bounded number of schemas.

    Every method raises a `RetriableError` while the registry is unavailable or rejects the credentials, because that
    affects all records, and a `DataError` if it rejects the schema or does not have it.

    Args:
        config: properties of the registry.
        kind: `AVRO`, `JSON` or `PROTOBUF`.
        guids: whether to return the GUIDs of schemas instead of their numeric ids.
    """

    def __init__(self, config: RegistryConfig, kind: str, *, guids: bool = False) -> None:
        self._config = config
        self._guids = guids
        self._kind = kind
        try:
            self._client = SchemaRegistryClient(config.client_properties())
        except (OSError, ValueError, TypeError, InvalidURL) as e:
            raise ConfigError(
                Problem("schema.registry.url", f"cannot set up the client: {type(e).__name__}: {e}")
            ) from e
        self._ids: LRUCache[tuple[str, str], Id] = LRUCache(config.cache_size)
        self._asked = 0
        self._calls = Calls(
            ", ".join(map(without_password, config.urls)),
            config.cache_size,
            "basic.auth.* or bearer.*",
            before=self._forget_some,
            nonsense=self._forget,  # the client may have cached that response
        )

    def id_of(self, subject: str, text: str) -> Id:
        """Return the id of a schema in a subject, registered first if `auto.register.schemas` allows it."""
        known = self._ids.get((subject, text))
        if known is not None:
            return known
        schema = Schema(text, self._kind)
        register = self._config.auto_register
        what = f"register a schema in subject {subject}" if register else f"find the schema in subject {subject}{_OFF}"
        with self._calls.asking(what, (subject, text)):
            normalize = self._config.normalize
            if register:
                found = self._client.register_schema_full_response(subject, schema, normalize_schemas=normalize)
            else:
                found = self._client.lookup_schema(subject, schema, normalize_schemas=normalize)
            number = self._id(found)
        self._ids[subject, text] = number
        return number

    def latest(self, subject: str) -> Found:
        """Return the latest schema of a subject that has the configured metadata."""
        metadata = dict(pair.split("=", 1) for pair in self._config.latest_metadata)
        with self._calls.asking(f"find the latest schema of subject {subject}", (subject,)):
            if metadata:
                found = self._client.get_latest_with_metadata(subject, metadata)
            else:
                found = self._client.get_latest_version(subject)
            return self._found(self._id(found), found.schema)

    def schema(self, number: Id) -> Found:
        """Return the schema with this id."""
        with self._calls.asking(f"find the schema with id {shown(number)}", (number,)):
            if isinstance(number, bytes):
                return self._found(number, self._client.get_schema_by_guid(shown(number)))
            return self._found(number, self._client.get_schema(number))

    def version(self, number: Id, subject: str) -> int | None:
        """Return the version of a schema in a subject; None if the registry does not return it."""
        try:
            with self._calls.asking(f"find versions of the schema with id {shown(number)}", (number, subject)):
                if isinstance(number, bytes):
                    schema = self._client.get_schema_by_guid(shown(number))
                    return self._client.lookup_schema(subject, schema).version
                versions = self._client.get_schema_versions(number)
        except DataError:
            return None
        return next((each.version for each in versions or () if each.subject == subject), None)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _id(self, found: RegisteredSchema) -> Id:
        if found.schema_id is None:
            raise ValueError("no id")
        if not self._guids:
            return found.schema_id
        if not found.guid:
            self._forget()  # otherwise, a registry that was upgraded would not be asked again
            raise self._calls.unavailable(
                "write the GUID of a schema to a header",
                "it has no GUIDs; remove key.schema.id.serializer and value.schema.id.serializer, or upgrade the registry",
            )
        return UUID(found.guid).bytes

    def _found(self, number: Id, schema: Schema) -> Found:
        kind = schema.schema_type or "AVRO"
        if kind != self._kind:
            raise DataError(
                f"cannot use the schema with id {shown(number)}: its type is {kind}, and the converter is for "
                f"{self._kind}; configure the converter for its type"
            )
        return Found(number, kind, _text(schema), collect_references(_references(schema), self._referenced))

    def _referenced(self, key: _Key) -> tuple[Reference, list[_Key]]:
        name, subject, version = key
        schema = self._client.get_version(str(subject), version or "latest", deleted=True).schema
        return Reference(name, _text(schema)), _references(schema)

    def _forget_some(self) -> None:
        """Clear the client's own cache, which is unbounded, from time to time."""
        self._asked += 1
        if self._asked > 2 * self._config.cache_size:
            self._forget()

    def _forget(self) -> None:
        self._asked = 0
        self._client.clear_caches()  # type: ignore[no-untyped-call]


def _references(schema: Schema) -> list[_Key]:
    return [(each.name or "", each.subject, each.version) for each in schema.references or []]


def _text(schema: Schema) -> str:
    if not schema.schema_str:
        raise ValueError("no schema")
    return schema.schema_str
