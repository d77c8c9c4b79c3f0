"""MaskField: put something that says nothing in the place of fields: zero, an empty text, or a replacement."""

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Final

from penstock import (
    Config,
    DataError,
    Field,
    Float32,
    Importance,
    Instant,
    Record,
    RecordBatch,
    Same,
    Schema,
    Transform,
    Type,
    prop,
)
from penstock.config_rules import not_blank
from penstock.fields import Column
from penstock_plugins.connect_values import CLASSES, java_class
from penstock_plugins.field_columns import (
    OncePerSchema,
    copied,
    copied_columns,
    fields_of,
    guarded,
    replaced,
    replaced_batch,
    replaced_in_maps,
    required_map,
    required_struct,
    side_of,
)
from penstock_plugins.java_numbers import big_decimal, float32, unbounded
from penstock_plugins.json_nodes import float64_of, low_bits
from penstock_plugins.name_lists import unique

__all__ = ["MaskField"]

_PURPOSE: Final = "mask fields"
_NULL: Final = type(None)
_INTEGERS: Final[Mapping[str, Type]] = {
    "java.lang.Byte": Type.INT8,
    "java.lang.Short": Type.INT16,
    "java.lang.Integer": Type.INT32,
    "java.lang.Long": Type.INT64,
}
_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_INTEGERS, 0),
    "java.math.BigInteger": 0,
    "java.lang.Float": 0.0,
    "java.lang.Double": 0.0,
    "java.math.BigDecimal": Decimal(0),
    "java.lang.Boolean": False,
    "java.util.Date": Instant(0),
    "java.lang.String": "",
    "java.util.ArrayList": (),
    "java.util.HashMap": {},
}
"""What a value of each class is masked with."""


_Shape = tuple[tuple[Field, ...], tuple[tuple[str, Schema | None], ...]]


class MaskFieldConfig(Config):
    """The properties of MaskField."""

    fields: Annotated[list[str], unique] = prop("fields", doc="Names of fields to mask.", importance=Importance.HIGH)
    replacement: Annotated[str | None, not_blank] = prop(
        "replacement",
        None,
        doc="Custom value replacement, that will be applied to all 'fields' values (numeric or non-empty string values "
        "only).",
        importance=Importance.LOW,
    )
    replace_null: bool = prop(
        "replace.null.with.default",
        True,
        doc="Whether to replace fields that have a default value and that are null to the default value. "
        "When set to true, the default value is used, otherwise null is used.",
        importance=Importance.MEDIUM,
    )


class MaskField(Transform):
    """Mask fields with a value that their type has for nothing, or numbers and texts with a replacement."""

    Config = MaskFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.MaskField",)
    variants = ("Key", "Value")

    def configure(self, config: MaskFieldConfig) -> None:
        """Take the parsed `Config`."""
        self._names = tuple(config.fields)
        self._replacement = config.replacement
        self._replace_null = config.replace_null
        self._shape = OncePerSchema(self._new_shape)
        self._masks: dict[tuple[str, bool], Any] = {}

    def apply(self, record: Record) -> Record:
        """The record with the fields masked; nulls stay.

        Raises:
            DataError: the side is null or no struct or map, a field cannot be masked so, or null stands in a required
                field.
        """
        schema, value = side_of(record, self.side)
        masked: tuple[tuple[str, Schema | None], ...]
        if schema is None:
            new, masked = dict(required_map(value, _PURPOSE)), tuple((name, None) for name in self._names)
        else:
            struct = required_struct(schema, value, _PURPOSE)
            guards, masked = self._shape(schema)
            new = copied(struct, guards, replace_null=self._replace_null)
        for name, of in masked:
            new[name] = self._masked(of, new.get(name))
        return replaced(record, self.side, schema, new)

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """As `apply`; a masked column without nulls is one value."""
        found = fields_of(batch, self.side)
        if found is None:
            in_maps = replaced_in_maps(batch, self.side, ((n, partial(self._masked_column, None)) for n in self._names))
            if in_maps is not None:
                return in_maps
            return RecordBatch.of(map(self.apply, batch.records()), like=batch, positions=batch.positions)
        schema, fields = found
        masked: tuple[tuple[str, Schema | None], ...]
        if schema is None:
            columns, masked = dict(fields.columns), tuple((name, None) for name in self._names)
        else:
            guards, masked = self._shape(schema)
            columns = copied_columns(fields, guards, replace_null=self._replace_null)
        for name, of in masked:
            columns[name] = self._masked_column(of, columns.get(name, Same(None)))
        return replaced_batch(batch, self.side, schema, fields.having(columns))

    def _new_shape(self, schema: Schema) -> _Shape:
        masked = tuple((f.name, f.schema) for f in schema.fields if f.name in self._names)
        return guarded(schema.fields, replace_null=self._replace_null), masked

    def _masked_column(self, schema: Schema | None, column: Column) -> Column:
        if isinstance(column, Same):
            return Same(self._masked(schema, column.value))
        kinds = set(map(type, column))
        there = [v for v in column if v is not None] if _NULL in kinds else column
        kinds.discard(_NULL)
        if not there:
            return Same(None)
        # Integers without a class of their own are of different ones within and without 64 bits.
        if len(kinds) > 1 or (kinds == {int} and len({java_class(schema, v) for v in (min(there), max(there))}) > 1):
            return [self._masked(schema, v) for v in column]
        mask = self._masked(schema, there[0])
        return Same(mask) if there is column else [None if v is None else mask for v in column]

    def _masked(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        kind = (java_class(schema, value), schema is None)
        if kind not in self._masks:
            self._masks[kind] = self._mask(*kind)
        mask = self._masks[kind]
        return list(mask) if type(mask) is tuple else dict(mask) if type(mask) is dict else mask

    def _mask(self, java: str, boxed: bool) -> Any:
        if self._replacement is None:
            if java not in _NOTHING:
                raise DataError(f"Cannot mask value of type: class {java}. Leave the field out of 'fields'")
            mask = _NOTHING[java]
        else:
            mask = self._replaced(java, self._replacement)
        if boxed and java in _INTEGERS and _INTEGERS[java] is not Type.INT64:
            return CLASSES[_INTEGERS[java]](mask)
        return Float32(mask) if boxed and java == "java.lang.Float" else mask

    def _replaced(self, java: str, text: str) -> Any:
        """The replacement as a value of a class of Java, by `Values.convertTo...`."""
        if java == "java.lang.String":
            return text
        try:
            if java == "java.math.BigInteger":
                return unbounded(text)
            if java in _INTEGERS:
                return low_bits(big_decimal(text), _INTEGERS[java])
            if java in ("java.lang.Float", "java.lang.Double"):
                number = float64_of(big_decimal(text))
                return number if java == "java.lang.Double" else float32(number)
            if java == "java.math.BigDecimal":
                return big_decimal(text)
        except ValueError as e:
            raise DataError(f"Unable to convert the replacement to a number, for a field of class {java}") from e
        raise DataError(
            f"Cannot mask value of type class {java} with custom replacement; only texts and numbers can be replaced. "
            "Mask this field without one, in a second MaskField"
        )
