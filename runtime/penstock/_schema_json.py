"""Connect schemas as JSON. Defaults that JSON cannot represent (bytes, decimals, structs) are omitted."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.schema import Schema, Type, struct

__all__ = ["schema_from_json", "schema_to_json"]


def schema_to_json(schema: Schema) -> str:
    """Return a schema as JSON."""
    return json.dumps(_to_json(schema), ensure_ascii=False, separators=(",", ":"))


def schema_from_json(text: str) -> Schema:
    """Parse a schema from JSON.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the JSON was not written by `schema_to_json`.
    """
    return _from_json(json.loads(text))


def _to_json(schema: Schema) -> dict[str, Any]:
    """Return the attributes that are set, with a default only if JSON preserves it."""
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


def _from_json(document: Mapping[str, Any]) -> Schema:
    if document["type"] == Type.STRUCT:
        shape = struct({name: _from_json(f) for name, f in document.get("fields", {}).items()})
    else:
        shape = Schema(Type(document["type"]))
    simple: dict[str, Any] = {
        k: document[k] for k in ("name", "version", "doc", "parameters", "default", "optional") if k in document
    }
    parts: dict[str, Any] = {k: _from_json(document[k]) for k in ("items", "keys", "values") if k in document}
    return replace(shape, **simple, **parts)
