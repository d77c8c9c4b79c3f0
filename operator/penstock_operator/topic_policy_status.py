"""The status of a TopicCreationPolicy: whether it can be applied, and to which Connectors. Pure."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.resources.effective_policy import effective_policy
from penstock_operator.connector.render.conditions import Kind, Verdict, undecided_conditions
from penstock_operator.reasons import Reason

__all__ = ["policy_status"]

_MOST_NAMES: Final = 100


def policy_status(document: Mapping[str, Any], connectors: Collection[str], now: float) -> dict[str, Any] | None:
    """The status of a policy; None: it has this status already.

    Args:
        document: the resource.
        connectors: names of the Connectors that name it.
        now: seconds since 1970.
    """
    generation, there = document["metadata"]["generation"], document.get("status") or {}
    before = [c for c in there.get("conditions") or () if isinstance(c, Mapping) and "type" in c]
    found = {
        "observedGeneration": generation,
        "conditions": undecided_conditions(before, _verdict(document), generation, now),
        "connectors": sorted(connectors)[:_MOST_NAMES],
        "connectorCount": len(connectors),
    }
    return None if found == {name: there.get(name) for name in found} else found


def _verdict(document: Mapping[str, Any]) -> Verdict:
    try:
        effective_policy(document)
    except ConfigError as e:
        problems = "; ".join(map(str, e.problems))
        return Verdict(
            Kind.STALLED, Reason.POLICY_INVALID,
            f"{problems}; connectors that run go on with the last good rules, others wait",
        )  # fmt: skip
    return Verdict(
        Kind.READY, Reason.ACCEPTED, "the rules and limits are good; connectors that name the policy follow them"
    )
