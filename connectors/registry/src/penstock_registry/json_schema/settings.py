"""Settings of the mapping between Connect's schemas and JSON Schemas."""

from dataclasses import dataclass

__all__ = ["JsonSettings"]


@dataclass(frozen=True, slots=True)
class JsonSettings:
    """Settings of the mapping.

    Attributes:
        additional: whether objects may have properties that the schema does not define.
        optional_unless_required: whether properties that are not in `required` are optional.
        numeric: whether decimals are numbers, not Base64 strings.
        flat: whether a combination of a single schema is that schema.
        generalized: whether enums and unions have the form that all formats share, not that of JSON Schema only.
        null_stays: whether a null of an optional field stays null even if there is a default.
        validated: whether records are validated against their JSON Schema.
    """

    additional: bool = True
    optional_unless_required: bool = False
    numeric: bool = False
    flat: bool = True
    generalized: bool = False
    null_stays: bool = False
    validated: bool = False
