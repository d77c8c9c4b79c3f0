"""Differences that are meant: rules over cases. docs/differences.md tells the reasons to people."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["is_intended"]


def is_intended(case: Mapping[str, Any]) -> bool:
    """Whether Penstock may answer this case otherwise."""
    return any(rule(case) for rule in _RULES)


def _variant_after_an_alias(case: Mapping[str, Any]) -> bool:
    """`Cast$Value`: aliases take `$Key` and `$Value` here as class names do."""
    types = (text for name, text in case["config"].items() if name.endswith(".type") and text)
    return any("$" in text and "." not in text for text in types)


def _text_of_bytes(case: Mapping[str, Any]) -> bool:
    """StringConverter writes an array of bytes as Java's identity of it, which is another one each time."""
    given = case["input"].get("data") if case.get("source") == "StringConverter" else None
    return given is not None and '"$bytes"' in json.dumps(given["value"])


_RULES = (_variant_after_an_alias, _text_of_bytes)
