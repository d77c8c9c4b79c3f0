"""Text of an Avro schema, as Java's Avro library writes it, so that a registry recognizes schemas of Java's converters."""

import json
from typing import Any

from penstock import DataError

__all__ = ["schema_json"]

_NAMED = ("record", "enum", "fixed")


def schema_json(tree: Any) -> str:
    """Return the text of a schema.

    Args:
        tree: the schema as JSON, in which each named type has its full name, without `namespace`, and its definition
            wherever it is used.

    Raises:
        DataError: two different types have the same name.
    """
    return json.dumps(_written(tree, None, {}), ensure_ascii=False, separators=(",", ":"))


def _written(tree: Any, space: str | None, defined: dict[str, Any]) -> Any:
    if isinstance(tree, list):
        return [_written(branch, space, defined) for branch in tree]
    if isinstance(tree, str):
        return tree
    kind = tree["type"]
    if kind in _NAMED:
        return _named(tree, space, defined)
    written = {name: value for name, value in tree.items() if name not in ("items", "values")}
    if kind == "array":
        written = {"type": kind, "items": _written(tree["items"], space, defined), **written}
    elif kind == "map":
        written = {"type": kind, "values": _written(tree["values"], space, defined), **written}
    return kind if list(written) == ["type"] else written


def _named(tree: dict[str, Any], space: str | None, defined: dict[str, Any]) -> Any:
    full: str = tree["name"]
    own_space, _, name = full.rpartition(".")
    known = defined.get(full)
    if known is not None:
        if known != tree:
            raise DataError(
                f"cannot write a schema as Avro: two different types have the name {full}; rename one of them, for example "
                "with the transform SetSchemaMetadata"
            )
        return name if own_space == (space or "") else full
    defined[full] = tree
    written: dict[str, Any] = {"type": tree["type"], "name": name}
    if own_space != (space or ""):
        written["namespace"] = own_space
    for attribute, value in tree.items():
        if attribute == "fields":
            written["fields"] = [{**f, "type": _written(f["type"], own_space, defined)} for f in value]
        elif attribute not in ("type", "name"):
            written[attribute] = value
    return written
