"""The status of resources whose kind is defined but not supported in this release. Pure.

Without a status, kubectl wait or Flux would wait until their time-out. `Stalled=True` ends that at once, as a failure:
nothing happens with the resource.
"""

from collections.abc import Mapping
from typing import Any, Final

from penstock_operator.kubernetes.kinds import PLUGIN_VERSION
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.reasons import ConditionType, Reason

__all__ = ["UNUSED", "unsupported_status"]

UNUSED: Final[Mapping[str, str]] = {
    PLUGIN_VERSION.kind: "images of plugins are not used in this release; put the plugin into the runtime's image (Helm: "
    "images.runtime)",
}
"""By kind: what to use instead."""


def unsupported_status(document: Mapping[str, Any], now: float) -> dict[str, Any] | None:
    """The status of such a resource; None: it has this status already.

    Args:
        document: the resource.
        now: seconds since 1970.
    """
    metadata, there = document["metadata"], document.get("status") or {}
    before = {c.get("type"): c for c in there.get("conditions") or () if isinstance(c, Mapping)}

    def condition(kind: str, value: str) -> dict[str, Any]:
        known = before.get(kind, {})
        since = known.get("lastTransitionTime") if known.get("status") == value else None
        return {
            "type": kind, "status": value, "reason": Reason.NOT_IMPLEMENTED, "message": UNUSED[document["kind"]],
            "observedGeneration": metadata["generation"], "lastTransitionTime": since or timestamp(now),
        }  # fmt: skip

    found = {
        "observedGeneration": metadata["generation"],
        "conditions": [condition(ConditionType.READY, "False"), condition(ConditionType.STALLED, "True")],
    }
    return None if found == {name: there.get(name) for name in found} else found
