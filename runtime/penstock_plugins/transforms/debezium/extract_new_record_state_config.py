"""Properties of ExtractNewRecordState."""

from typing import Annotated, Final, NamedTuple, Self

from pydantic import model_validator

from penstock import Config, ConfigError, Importance, Problem, prop
from penstock.rules import words
from penstock_plugins.transforms.debezium.field_references import read_references

__all__ = ["Deletes", "ExtractNewRecordStateConfig"]


class Deletes(NamedTuple):
    """Handling of deletions."""

    delete: str
    """Result of the change event: `drop`, `null` (with the row's schema), `rewrite` or `tombstone` (without a schema)."""
    drops_tombstones: bool


_MODES: Final = {
    "drop": Deletes("drop", True),
    "tombstone": Deletes("null", True),
    "rewrite": Deletes("rewrite", True),
    "rewrite-with-tombstone": Deletes("rewrite", False),
    "delete-to-tombstone": Deletes("tombstone", True),
}
_OLD_MODES: Final = {"drop": "drop", "none": "null", "rewrite": "rewrite"}
_PREFIX: Final = "Prefix of the names of the {}."
_REFERENCES: Final = (
    "{} to add, from the change event: `op`, `ts_ms`, a field of `source` (`table`, `lsn`) or of `transaction` (`id`), or a "
    "path (`source.ts_ms`, named `__source_ts_ms`). A colon sets another name: `op:operation`. Fields that the event does "
    "not have are not added."
)


class ExtractNewRecordStateConfig(Config):
    mode: Annotated[str, words(*_MODES, any_case=True)] = prop(
        "delete.tombstone.handling.mode",
        "tombstone",
        doc="How to handle deletions, which Debezium's source writes as a change event and a tombstone. drop: remove both. "
        "tombstone: the event becomes a record with a null value and the row's schema, and the tombstone is removed. "
        "rewrite: the event becomes the old row with the field `__deleted` set to `true` (`false` in all other rows), and "
        "the tombstone is removed. rewrite-with-tombstone: the same, but the tombstone stays. delete-to-tombstone: the "
        "event becomes a tombstone, and the other tombstone is removed.",
        importance=Importance.MEDIUM,
    )
    drop_tombstones: bool | None = prop(
        "drop.tombstones",
        None,
        doc="Whether to remove tombstones (default: true), as in Debezium before 3.2, if delete.tombstone.handling.mode is "
        "not set.",
        importance=Importance.LOW,
    )
    delete_handling: Annotated[str | None, words(*_OLD_MODES, any_case=True)] = prop(
        "delete.handling.mode",
        None,
        doc="How to handle the change event of a deletion, as in Debezium before 3.2, if delete.tombstone.handling.mode is "
        "not set. drop (the default): remove it. none: it becomes a record with a null value. rewrite: it becomes the old "
        "row with the field `__deleted`.",
        importance=Importance.LOW,
    )
    route: str = prop(
        "route.by.field",
        "",
        doc="Field of the row whose value is the name of the new topic. A blank string or null keeps the topic.",
        importance=Importance.LOW,
    )
    field_prefix: str = prop("add.fields.prefix", "__", doc=_PREFIX.format("added fields"), importance=Importance.LOW)
    fields: tuple[str, ...] = prop("add.fields", (), doc=_REFERENCES.format("Fields"), importance=Importance.LOW)
    header_prefix: str = prop(
        "add.headers.prefix", "__", doc=_PREFIX.format("added headers"), importance=Importance.LOW
    )
    headers: tuple[str, ...] = prop("add.headers", (), doc=_REFERENCES.format("Headers"), importance=Importance.LOW)
    drop_header: str | None = prop(
        "drop.fields.header.name",
        None,
        doc="Name of a header with a list of field names, which are removed from the row.",
        importance=Importance.LOW,
    )
    drop_from_key: bool = prop(
        "drop.fields.from.key",
        False,
        doc="Whether these fields are removed from the key, too.",
        importance=Importance.LOW,
    )
    keep_compatible: bool = prop(
        "drop.fields.keep.schema.compatible",
        True,
        doc="Whether only optional fields are removed, so that the schema stays compatible.",
        importance=Importance.LOW,
    )
    replace_null: bool = prop(
        "replace.null.with.default",
        True,
        doc="Whether null in a field with a default is replaced with the default. Only modes that add `__deleted` do so.",
        importance=Importance.LOW,
    )

    @property
    def deletes(self) -> Deletes:
        """Handling of deletions; the older properties apply only if the newer one is not set."""
        old = self.drop_tombstones is not None or self.delete_handling is not None
        if old and "mode" not in self.model_fields_set:
            return Deletes(_OLD_MODES[self.delete_handling or "drop"], self.drop_tombstones is not False)
        return _MODES[self.mode]

    @model_validator(mode="after")
    def _are_references(self) -> Self:
        for name, texts in (("add.fields", self.fields), ("add.headers", self.headers)):
            try:
                read_references(texts, "")
            except ValueError as e:
                raise ConfigError(Problem(name, str(e))) from None
        return self
