"""A Connect schema as JSON text, whole but for defaults that JSON does not have (bytes, decimals, structs)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.schema import Schema, Type, struct

__all__ = ["schema_from_json", "schema_to_json"]


def schema_to_json(schema: Schema) -> str:
    """The JSON of a schema."""
    return json.dumps(_to_json(schema), ensure_ascii=False, separators=(",", ":"))


def schema_from_json(found: str) -> Schema:
    """The schema of a JSON text.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is none that `schema_to_json` wrote.
    """
    return _from_json(json.loads(found))


def _to_json(schema: Schema) -> dict[str, Any]:
    """What is set, and a default only where JSON keeps it as it is."""
    simple = {
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": None if schema.parameters is None else dict(schema.parameters),
        "default": schema.default if isinstance(schema.default, (str, int, float, bool)) else None,
        "optional": schema.optional or None,
    }
    parts = {"items": schema.items, "keys": schema.keys, "values": schema.values}
    return {
        "type": schema.type.value,
        **{k: v for k, v in simple.items() if v is not None},
        **{k: _to_json(v) for k, v in parts.items() if v is not None},
        **({"fields": {f.name: _to_json(f.schema) for f in schema.fields}} if schema.fields else {}),
    }


def _from_json(found: Mapping[str, Any]) -> Schema:
    if found["type"] == Type.STRUCT:
        shape = struct({name: _from_json(f) for name, f in found.get("fields", {}).items()})
    else:
        shape = Schema(Type(found["type"]))
    simple: dict[str, Any] = {
        k: found[k] for k in ("name", "version", "doc", "parameters", "default", "optional") if k in found
    }
    parts: dict[str, Any] = {k: _from_json(found[k]) for k in ("items", "keys", "values") if k in found}
    return replace(shape, **simple, **parts)
