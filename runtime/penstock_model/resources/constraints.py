"""Constraints on fields for both pydantic and Kubernetes: limits with messages, rules in CEL, list keys.

Annotations of pydantic's fields check a value and add the same limit to the JSON schema, under the names of CRDs, from which
`penstock_model.resources.crds` creates the definitions. Pure.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["ONE_VALUE", "SCALAR_SCHEMA", "AtMost", "Mark", "Matches", "list_of", "open_object", "rule", "ruled"]

ONE_VALUE: Final[dict[str, Any]] = {
    "x-kubernetes-preserve-unknown-fields": True,
    "minItems": 1,
    "maxItems": 0,
    "minProperties": 1,
    "maxProperties": 0,
}
"""String, number or boolean.

A structural schema cannot allow several types, so this one has no type, but limits that lists and mappings violate. CEL
cannot read such values or the mapping that contains them, so the API server reports only the limit; the operator and
`penstock validate` report the remedy.
"""

SCALAR_SCHEMA: Final[dict[str, Any]] = {**ONE_VALUE, "multipleOf": 1, "minimum": -(2**53), "maximum": 2**53}
"""String, integer that every JSON parser preserves, or boolean."""


class Mark:
    """Addition to the JSON schema of a field. It checks nothing."""

    def __init__(self, **schema: Any) -> None:
        self.schema = schema

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), **self.schema}


@dataclass(frozen=True)
class Matches:
    """Requirement that a string matches a pattern, which must mean the same in RE2, Python and ECMAScript.

    The sentence states the required form.
    """

    pattern: str
    sentence: str

    def check(self, text: str) -> str:
        """Check a string, and return it.

        Raises:
            ValueError: the string does not match.
        """
        if not re.search(self.pattern.replace("$", r"\Z"), text):
            raise ValueError(self.sentence)
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": self.pattern}


@dataclass(frozen=True)
class AtMost:
    """Limit on the characters of a string or the entries of a list."""

    most: int
    least: int = 0

    def check(self, value: Sequence[Any]) -> Sequence[Any]:
        """Check a string or list, and return it.

        Raises:
            ValueError: the value is too long or too short.
        """
        what = "characters" if isinstance(value, str) else "entries"
        if len(value) > self.most:
            raise ValueError(f"has {len(value)} {what}; at most {self.most} are allowed")
        if len(value) < self.least:
            raise ValueError("must not be empty" if self.least == 1 else f"needs at least {self.least} {what}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        unit = "Items" if schema.get("type") == "array" else "Length"
        limits = {f"max{unit}": self.most} | ({f"min{unit}": self.least} if self.least else {})
        return {**schema, **limits}


def rule(text: str, message: str, *, path: str | None = None, reason: str | None = None) -> dict[str, Any]:
    """Return an entry of `x-kubernetes-validations`.

    Args:
        text: the CEL expression that must be true. One with `oldSelf` is evaluated when an object changes.
        message: the problem if it is false, and the remedy.
        path: path of the inner field to which the message belongs, `.name`.
        reason: Kubernetes' reason (`FieldValueForbidden`); None is FieldValueInvalid. Do not use FieldValueDuplicate, for
            which the API server omits the message.
    """
    validation = {"rule": text, "message": message}
    if path is not None:
        validation["fieldPath"] = path
    if reason is not None:
        validation["reason"] = reason
    return validation


def ruled(*rules: dict[str, Any]) -> dict[str, Any]:
    """Return these rules as a part of a schema."""
    return {"x-kubernetes-validations": list(rules)}


def list_of(kind: Literal["map", "atomic"], *keys: str) -> dict[str, Any]:
    """Return how server-side apply merges a list: `map` merges entries by these keys, `atomic` replaces the list."""
    schema: dict[str, Any] = {"x-kubernetes-list-type": kind}
    if keys:
        schema["x-kubernetes-list-map-keys"] = list(keys)
    return schema


def open_object(key: str | None = None, text: str = "") -> dict[str, Any]:
    """Return the schema of a mapping whose fields are defined by Kubernetes; the schema does not repeat them.

    Args:
        key: a required field.
        text: description of that field.
    """
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if key is not None:
        schema |= {"properties": {key: {"type": "string", "description": text}}, "required": [key]}
    return schema
