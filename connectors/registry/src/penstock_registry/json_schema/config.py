"""Properties of the JsonSchemaConverter."""

from typing import Annotated

from penstock import Importance, prop
from penstock.rules import Rule
from penstock_registry.config import RegistryConfig
from penstock_registry.json_schema.settings import JsonSettings

__all__ = ["JsonSchemaConverterConfig"]

_FORMATS = ("BASE64", "NUMERIC")


def _format(text: str) -> str:
    if text.upper() not in _FORMATS:
        raise ValueError(f"String must be one of (case insensitive): {', '.join(_FORMATS)}")
    return text.upper()


class JsonSchemaConverterConfig(RegistryConfig):
    decimal_format: Annotated[str, Rule(_format, "BASE64, NUMERIC", values=_FORMATS)] = prop(
        "decimal.format",
        "BASE64",
        doc="How a Decimal is written: its bytes in Base64, or as a number. Both are read.",
        importance=Importance.LOW,
    )
    additional: bool = prop(
        "object.additional.properties",
        True,
        doc="Allow objects of new schemas to have properties that the schema does not define.",
    )
    optional_unless_required: bool = prop(
        "use.optional.for.nonrequired",
        False,
        doc="Read properties that the JSON Schema does not list in `required` as optional fields. Otherwise, a record "
        "without such a property fails, unless its schema allows null or has a default.",
    )
    generalized: bool = prop(
        "generalized.sum.type.support",
        False,
        doc="Represent enums and unions as the converters for other formats do if they have this property.",
    )
    null_stays: bool = prop(
        "ignore.default.for.nullables",
        False,
        doc="Keep the null of an optional field that has a default. Otherwise, the default is written.",
        importance=Importance.LOW,
    )
    flat: bool = prop(
        "flatten.singleton.unions",
        True,
        doc="Read `oneOf`, `anyOf` or `allOf` with a single schema as that schema. Otherwise, it is a union with one field.",
        importance=Importance.LOW,
    )
    validated: bool = prop(
        "json.fail.invalid.schema",
        False,
        doc="Validate each record against its JSON Schema, in both directions. A record that does not fit fails.",
    )
    strict: bool = prop(
        "latest.compatibility.strict",
        True,
        doc="Validate each record against the JSON Schema if it is written with the latest schema of the subject "
        "(`use.latest.version`). A record that does not fit fails.",
        importance=Importance.LOW,
    )

    @property
    def settings(self) -> JsonSettings:
        """Return the settings of the mapping."""
        return JsonSettings(
            additional=self.additional,
            optional_unless_required=self.optional_unless_required,
            numeric=self.decimal_format == "NUMERIC",
            flat=self.flat,
            generalized=self.generalized,
            null_stays=self.null_stays,
            validated=self.validated,
        )
