"""A pydantic model as a structural OpenAPI v3 schema, the form that a CustomResourceDefinition needs. Pure.

The API server omits false and empty lists when it returns a definition. They are omitted here too, so that a file equals
the definition in the cluster, and GitOps tools see no difference.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

__all__ = ["DURATION_PATTERN", "structural"]

DURATION_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
"""The form of `penstock_model.resources.values.Duration`, for Kubernetes."""
_LONGEST_DURATION: Final = 64
_INT: Final = 2**31 - 1
_LONG: Final = 2**63 - 1

_KEPT: Final = frozenset(
    (
        "description",
        "type",
        "format",
        "pattern",
        "enum",
        "required",
        "multipleOf",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "not",
    )
)
Json = dict[str, Any]


def structural(model: type[BaseModel]) -> Json:
    """Return the schema of a model.

    Descriptions are those of the fields, followed by the default, which `kubectl explain` does not show. The default of a
    part that contains defaults is `{}`, so that the API server fills in all of them, including those of omitted parts.

    Raises:
        ValueError: the model cannot be expressed as a structural schema.
    """
    made = model.model_json_schema(by_alias=True)
    return _node(made, made.get("$defs", {}))


def _node(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Json:
    node = _one(node, definitions)
    found = {name: value for name, value in node.items() if name in _KEPT or name.startswith("x-kubernetes-")}
    if "const" in node:
        found["enum"] = [node["const"]]
    if node.get("format") == "duration":
        del found["format"]
        found |= {"pattern": DURATION_PATTERN, "maxLength": _LONGEST_DURATION}
    if "properties" in node:
        found["properties"] = {name: _node(inner, definitions) for name, inner in node["properties"].items()}
    if "items" in node:
        found["items"] = _node(node["items"], definitions)
        found["items"].pop("description", None)  # kubectl explain would append it to that of the list
    values = node.get("additionalProperties")
    if isinstance(values, Mapping):
        found["additionalProperties"] = _node(values, definitions)
    if node.get("type") == "integer":
        found["format"] = node.get("format") or ("int32" if node.get("maximum", _LONG) <= _INT else "int64")
    default = node.get("default")
    if isinstance(default, dict) and any("default" in inner for inner in found.get("properties", {}).values()):
        found["default"] = {}  # so that the API server fills in the defaults of its fields
    elif isinstance(default, (str, int, float)):
        found["default"] = default
        if "description" in found:
            found["description"] += f" Default: {str(default).lower() if isinstance(default, bool) else default}."
    if "type" not in found and "x-kubernetes-preserve-unknown-fields" not in found:
        raise ValueError(f"cannot create a structural schema from {node}")
    return {name: _plain(value) for name, value in found.items()}


def _one(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Json:
    """Return the node without references and without the null of an optional field; keys next to them take precedence."""
    choices = [c for c in node.get("anyOf", ()) if c.get("type") != "null"]
    others = {k: v for k, v in node.items() if k not in ("anyOf", "$ref")}
    if len(choices) == 1:
        return _one({**choices[0], **others}, definitions)
    if "$ref" in node:
        return _one({**definitions[node["$ref"].rpartition("/")[2]], **others}, definitions)
    return dict(node)


def _plain(value: Any) -> Any:
    """Return 2 for 2.0, as in Kubernetes' JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
