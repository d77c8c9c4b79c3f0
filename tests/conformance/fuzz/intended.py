"""Differences that are meant: rules over cases. docs/differences.md tells the reasons to people."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .. import codec

__all__ = ["is_intended"]


def is_intended(case: Mapping[str, Any]) -> bool:
    """Whether Penstock may answer this case, which has Kafka Connect's answer as `expected`, otherwise."""
    return any(rule(case) for rule in _RULES)


def _taken_kindly(case: Mapping[str, Any]) -> bool:
    """`Cast$Value` as an alias, blanks around a type, an empty name of a predicate (rule `taken-kindly` of the cases)."""
    types = [text for name, text in case["config"].items() if re.fullmatch(r"(transforms|predicates)\.\w+\.type", name)]
    if any(text != text.strip() or re.fullmatch(r"\w+\$(Key|Value)", text) for text in types):
        return True
    return any(not text for name, text in case["config"].items() if re.fullmatch(r"transforms\.\w+\.predicate", name))


def _text_of_bytes(case: Mapping[str, Any]) -> bool:
    """StringConverter writes an array of bytes as Java's identity of it, which is another one each time."""
    given = case["input"].get("data") if case.get("source") == "StringConverter" else None
    return given is not None and '"$bytes"' in json.dumps(given["value"])


def _keys_that_python_refuses(case: Mapping[str, Any]) -> bool:
    """A map of Python's takes 1, 1.0 and True for one key, and no list or map for a key."""
    return any(_collide([key for key, _ in pairs]) for pairs in _maps(case["expected"]))


def _double_under_float(case: Mapping[str, Any]) -> bool:
    """A Double under the schema of a float, which no struct would take: a float is one kind here, and the schema tells."""
    given = case["input"].get("data")
    return (
        given is not None and '"float32"' in json.dumps(given["schema"]) and '"$float64"' in json.dumps(given["value"])
    )


def _floats_in_words(case: Mapping[str, Any]) -> bool:
    """`"NaN"` and `"Infinity"` under the schema of a float, which JsonConverter writes, and reads as 0."""
    given = case["input"].get("bytes") if case.get("source") == "JsonConverter" else None
    return given is not None and any(w in base64.b64decode(given["$bytes"]) for w in (b'"NaN"', b'Infinity"'))


def _collide(keys: list[Any]) -> bool:
    if any(isinstance(key, list) or (isinstance(key, dict) and not _is_plain(key)) for key in keys):
        return True
    return len({codec.value(None, key) for key in keys}) < len(keys)


def _is_plain(node: Mapping[str, Any]) -> bool:
    return len(node) == 1 and next(iter(node)).startswith("$") and not node.keys() & {"$map", "$struct"}


def _maps(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        if node.keys() == {"$map"}:
            yield node["$map"]
        for part in node.values():
            yield from _maps(part)
    elif isinstance(node, list):
        for part in node:
            yield from _maps(part)


_RULES = (_taken_kindly, _text_of_bytes, _keys_that_python_refuses, _double_under_float, _floats_in_words)
