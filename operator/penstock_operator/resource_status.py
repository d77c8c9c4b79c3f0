"""Status of a TopicCreationPolicy or PluginVersion: whether Connectors may use it, and which do. Pure."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock.errors import ConfigError
from penstock_model.resources.effective_topic_policy import effective_policy
from penstock_model.resources.plugin_offers import offer_of
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.connector.render.conditions import undecided_conditions
from penstock_operator.kubernetes import kinds
from penstock_operator.kubernetes.leftovers import without_foreign_conditions
from penstock_operator.reasons import ConditionType, Reason, is_same_cause

__all__ = ["new_cause", "resource_status"]

_MOST_NAMES: Final = 100
"""Maximum number of Connector names in a status."""
_FOUND: Final = ("classes", "definitions")
"""Status fields of a PluginVersion that hold the findings of a verifying pod."""


class _Resource(NamedTuple):
    """Messages and checks for the resources of one kind.

    Attributes:
        check: raises ConfigError if the resource cannot be used.
        reason: reason if the resource cannot be used.
        consequence: the consequence of that, appended to the problems.
        accepted: message if the resource can be used.
        users: returns the fields for the Connectors that use it.
    """

    check: Callable[[Mapping[str, Any]], object]
    reason: Reason
    consequence: str
    accepted: str
    users: Callable[[Collection[str]], dict[str, Any]]


_RESOURCES: Final[Mapping[kinds.Kind, _Resource]] = {
    kinds.POLICY: _Resource(
        effective_policy,
        Reason.POLICY_INVALID,
        "; running connectors keep the last good rules, others wait",
        "the rules and limits are valid; they apply to connectors that name the policy or that it selects",
        lambda names: {"connectors": sorted(names)[:_MOST_NAMES], "connectorCount": len(names)},
    ),
    kinds.PLUGIN_VERSION: _Resource(
        offer_of,
        Reason.PLUGIN_VERSION_INVALID,
        "",
        "it is well-formed",
        lambda names: {"usedBy": sorted(names)[:_MOST_NAMES]},
    ),
}


def resource_status(
    kind: kinds.Kind,
    document: Mapping[str, Any],
    connectors: Collection[str],
    now: float,
    verified: Verdict | None = None,
    verified_by: str = "",
    finding: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Return the status for the observed generation; None: the resource already has this status.

    Args:
        kind: kind of the resource, POLICY or PLUGIN_VERSION.
        document: the resource.
        connectors: names of the Connectors that use it.
        now: seconds since 1970.
        verified: for a usable PluginVersion, the verdict on its image.
        verified_by: for a usable PluginVersion, the runtime image that inspected it; empty: none has.
        finding: for a usable PluginVersion, the fields with findings; None: those that the status has.
    """
    resource = _RESOURCES[kind]
    verdict = verified or Verdict(Kind.READY, Reason.ACCEPTED, resource.accepted)
    try:
        resource.check(document)
    except ConfigError as e:
        message = "; ".join(map(str, e.problems)) + resource.consequence
        verdict = Verdict(Kind.STALLED, resource.reason, message)
    generation, there = document["metadata"]["generation"], without_foreign_conditions(document.get("status") or {})
    kept = there if finding is None else finding
    found = {
        "observedGeneration": generation,
        "conditions": undecided_conditions(there.get("conditions") or (), verdict, generation, now),
        **resource.users(connectors),
        **({"verifiedBy": verified_by} if verified_by else {}),
        **{name: kept[name] for name in _FOUND if kept.get(name)},
    }
    optional = ("verifiedBy", *_FOUND)
    is_said = found == {name: there.get(name) for name in found} and all((n in found) == (n in there) for n in optional)
    return None if is_said else found


def new_cause(status: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return condition Ready of a status if it is not True and has a new cause, for an Event; None: there is no Event."""
    ready, ready_before = _ready(status), _ready(before)
    has_cause = ready["status"] != "True" and not is_same_cause(ready["reason"], ready_before.get("reason"))
    return ready if has_cause else None


def _ready(status: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    return next((c for c in conditions if c["type"] == ConditionType.READY), {})
