"""What a resource's model says to pydantic and to Kubernetes at once: limits with sentences, rules in CEL, list keys.

Annotations of pydantic's fields check a value and put the same limit into the JSON schema, under the names that CRDs use
and `penstock_model.resources.crds` takes over. Pure.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

__all__ = ["SCALAR_SCHEMA", "AtMost", "Mark", "Matches", "list_of", "open_object", "required_name", "rule", "ruled"]

SCALAR_SCHEMA: Final[dict[str, Any]] = {
    "x-kubernetes-preserve-unknown-fields": True,
    "minItems": 1,
    "maxItems": 0,
    "maxProperties": 0,
    "required": ["is a mapping; properties are flat, so write its parts under their full names"],
}
"""A string, a number or a boolean.

A structural schema has no type for several types, so this one has none, and limits that no list and no mapping can keep.
CEL does not see such values, nor the mapping that they stand in; how the API server comes to the sentence is told at
`required_name`.
"""


class Mark:
    """Adds to the JSON schema of what it annotates; checks nothing."""

    def __init__(self, **schema: Any) -> None:
        self.schema = schema

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), **self.schema}


@dataclass(frozen=True)
class Matches:
    """A text of this form, which RE2, Python and ECMAScript read alike; the sentence says what it must be."""

    pattern: str
    sentence: str

    def check(self, text: str) -> str:
        """The text.

        Raises:
            ValueError: it has another form.
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
    """A text or list that has so many characters or entries, at least and at most."""

    most: int
    least: int = 0

    def check(self, value: Sequence[Any]) -> Sequence[Any]:
        """The text or list.

        Raises:
            ValueError: it is longer or shorter.
        """
        what = "characters" if isinstance(value, str) else "entries"
        if len(value) > self.most:
            raise ValueError(f"has {len(value)} {what}; at most {self.most} are allowed")
        if len(value) < self.least:
            raise ValueError("must not be empty" if self.least == 1 else f"needs {self.least} {what} at least")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = handler(core)
        unit = "Items" if found.get("type") == "array" else "Length"
        limits = {f"max{unit}": self.most} | ({f"min{unit}": self.least} if self.least else {})
        return {**found, **limits}


def rule(text: str, message: str, *, path: str | None = None, reason: str | None = None) -> dict[str, Any]:
    """One of `x-kubernetes-validations`.

    Args:
        text: the CEL expression that must be true; with `oldSelf` it is asked when an object changes.
        message: what is wrong where it is false, and what to do.
        path: the field below that the message belongs to, `.name`.
        reason: Kubernetes' word for it (`FieldValueForbidden`); FieldValueInvalid when None. Not FieldValueDuplicate:
            the API server leaves the message out of it.
    """
    made = {"rule": text, "message": message}
    if path is not None:
        made["fieldPath"] = path
    if reason is not None:
        made["reason"] = reason
    return made


def ruled(*rules: dict[str, Any]) -> dict[str, Any]:
    """Rules, as part of a schema."""
    return {"x-kubernetes-validations": list(rules)}


def list_of(kind: Literal["map", "atomic"], *keys: str) -> dict[str, Any]:
    """How server-side apply merges a list: `map`, entry by entry under these keys; `atomic`, as a whole."""
    made: dict[str, Any] = {"x-kubernetes-list-type": kind}
    if keys:
        made["x-kubernetes-list-map-keys"] = list(keys)
    return made


def open_object() -> dict[str, Any]:
    """A mapping whose fields are Kubernetes' own and are not repeated here."""
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def required_name(absent: str, sentence: str) -> dict[str, Any]:
    """A mapping must not have the property `absent`; the sentence is what the API server answers.

    For mappings that CEL does not see. OpenAPI has no messages of its own, but it prints the name of a property that is
    missing: where `absent` is there, a property with the sentence for its name would have to be there too.
    """
    return {"anyOf": [{"required": [sentence]}, {"not": {"required": [absent]}}]}
