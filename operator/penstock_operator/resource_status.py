"""The status of a resource that Connectors use, and that has no pods of its own. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from penstock_operator.connector.model.verdict import Verdict
from penstock_operator.connector.render.conditions import undecided_conditions

__all__ = ["MOST_NAMES", "resource_status"]

MOST_NAMES: Final = 100
"""Names of Connectors that a status gives."""


def resource_status(document: Mapping[str, Any], verdict: Verdict, now: float, **more: Any) -> dict[str, Any] | None:
    """The status for the generation that is seen; None: the resource has this status already.

    Args:
        document: the resource.
        verdict: for Ready and Stalled.
        now: seconds since 1970.
        more: the other fields.
    """
    generation, there = document["metadata"]["generation"], document.get("status") or {}
    before = [c for c in there.get("conditions") or () if isinstance(c, Mapping) and "type" in c]
    found = {
        "observedGeneration": generation,
        "conditions": undecided_conditions(before, verdict, generation, now),
        **more,
    }
    return None if found == {name: there.get(name) for name in found} else found
