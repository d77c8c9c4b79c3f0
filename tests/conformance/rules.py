"""Rules of the table of intended differences: the feature of a case's input that Penstock answers otherwise on purpose.

Each is one line of the table in `docs/differences.md`, which tells what users see instead, and why.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

Case = dict[str, Any]
Rule = Callable[[Case], bool]

__all__ = ["RULES"]


def _validated(case: Case) -> bool:
    """Whether Kafka Connect told which properties have errors."""
    return case["area"] == "validation" and "errors" in case["expected"]


def _aliases(of: str, config: Mapping[str, Any]) -> list[str]:
    text = (config.get(of) or "").strip()
    return [alias for alias in re.split(r"\s*,\s*", text) if alias]


def _types(config: Mapping[str, Any]) -> Iterator[str]:
    for of in ("transforms", "predicates"):
        for alias in _aliases(of, config):
            yield (config.get(f"{of}.{alias}.type") or "").strip()


def _short_name_with_side(case: Case) -> bool:
    if case["area"] not in ("smt", "transform-config", "validation"):
        return False
    return any(re.fullmatch(r"\w+\$(Key|Value)", name) for name in _types(case["config"]))


RULES: Final[Mapping[str, Rule]] = {
    "short-name-with-side": _short_name_with_side,
}
