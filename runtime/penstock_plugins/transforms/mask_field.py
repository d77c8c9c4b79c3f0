"""MaskField: replace the values of fields with zero, an empty string or a configured replacement."""

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Final

from penstock import Config, DataError, Field, Float32, Importance, Instant, Same, Schema, Type, prop
from penstock.fields import Column
from penstock.rules import not_blank
from penstock_plugins.connect.number_casts import double_value, low_bits, to_float32
from penstock_plugins.connect.numbers import parse_big_decimal, parse_big_integer
from penstock_plugins.connect.values import CLASSES, java_class
from penstock_plugins.structs.copy import FieldChange, FieldCopy, replace_null_with_default
from penstock_plugins.structs.field_changes import FieldValueTransform
from penstock_plugins.structs.field_names import NonEmptyDistinctNames

__all__ = ["MaskField"]

_NULL: Final = type(None)
_INTEGERS: Final[Mapping[str, Type]] = {
    "java.lang.Byte": Type.INT8,
    "java.lang.Short": Type.INT16,
    "java.lang.Integer": Type.INT32,
    "java.lang.Long": Type.INT64,
}
_DEFAULT_MASKS: Final[Mapping[str, Any]] = {
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
"""Mask for values of each Java class, if no replacement is configured."""


class MaskFieldConfig(Config):
    fields: NonEmptyDistinctNames = prop("fields", doc="Names of fields to mask.", importance=Importance.HIGH)
    replacement: Annotated[str | None, not_blank] = prop(
        "replacement",
        None,
        doc="Custom value replacement, that will be applied to all 'fields' values (numeric or non-empty string values "
        "only).",
        importance=Importance.LOW,
    )
    replace_null: bool = replace_null_with_default()


class MaskField(FieldValueTransform):
    """Mask fields with zero or an empty value of their type, or numbers and strings with a replacement; nulls stay."""

    Config = MaskFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.MaskField",)
    purpose = "mask fields"

    def configure(self, config: MaskFieldConfig) -> None:
        self._names = frozenset(config.fields)
        self._replacement = config.replacement
        self._masks: dict[tuple[str, bool], Any] = {}
        self.change_fields(dict.fromkeys(config.fields, self._change(None)), replace_null=config.replace_null)

    def move(self, field: Field) -> FieldCopy:
        """Return the field, masked if it is configured; its schema does not change."""
        return FieldCopy(field, field, self._change(field.schema) if field.name in self._names else None)

    def _change(self, schema: Schema | None) -> FieldChange:
        return FieldChange(partial(self._masked, schema), partial(self._masked_column, schema))

    def _masked_column(self, schema: Schema | None, column: list[Any], kinds: frozenset[type]) -> Column:
        present = [v for v in column if v is not None] if _NULL in kinds else column
        kinds = kinds - {_NULL}
        if not present:
            return Same(None)
        # A plain `int` is a Long in Java within 64 bits, and a BigInteger beyond.
        if len(kinds) > 1 or (
            kinds == {int} and len({java_class(schema, v) for v in (min(present), max(present))}) > 1
        ):
            return [self._masked(schema, v) for v in column]
        mask = self._masked(schema, present[0])
        return Same(mask) if present is column else [None if v is None else mask for v in column]

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
            if java not in _DEFAULT_MASKS:
                raise DataError(f"Cannot mask value of type: class {java}. Leave the field out of 'fields'")
            mask = _DEFAULT_MASKS[java]
        else:
            mask = self._replaced(java, self._replacement)
        if boxed and java in _INTEGERS and _INTEGERS[java] is not Type.INT64:
            return CLASSES[_INTEGERS[java]](mask)
        return Float32(mask) if boxed and java == "java.lang.Float" else mask

    def _replaced(self, java: str, text: str) -> Any:
        """Return the replacement as a value of a Java class, converted as `Values.convertTo...` does."""
        if java == "java.lang.String":
            return text
        try:
            if java == "java.math.BigInteger":
                return parse_big_integer(text)
            if java in _INTEGERS:
                return low_bits(parse_big_decimal(text), _INTEGERS[java])
            if java in ("java.lang.Float", "java.lang.Double"):
                number = double_value(parse_big_decimal(text))
                return number if java == "java.lang.Double" else to_float32(number)
            if java == "java.math.BigDecimal":
                return parse_big_decimal(text)
        except ValueError as e:
            raise DataError(f"Unable to convert the replacement to a number, for a field of class {java}") from e
        raise DataError(
            f"Cannot mask value of type class {java} with custom replacement; only strings and numbers can be replaced. "
            "Mask this field without a replacement, in a second MaskField"
        )
