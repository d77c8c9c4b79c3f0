"""The status of a TopicCreationPolicy: whether it can be applied, and to which Connectors. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from penstock.errors import ConfigError
from penstock_model.resources.effective_policy import effective_policy
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.reasons import Reason
from penstock_operator.resource_status import MOST_NAMES, resource_status

__all__ = ["policy_status"]


def policy_status(document: Mapping[str, Any], connectors: Collection[str], now: float) -> dict[str, Any] | None:
    """The status of a policy; None: it has this status already.

    Args:
        document: the resource.
        connectors: names of the Connectors that name it.
        now: seconds since 1970.
    """
    names = sorted(connectors)[:MOST_NAMES]
    return resource_status(document, _verdict(document), now, connectors=names, connectorCount=len(connectors))


def _verdict(document: Mapping[str, Any]) -> Verdict:
    try:
        effective_policy(document)
    except ConfigError as e:
        problems = "; ".join(map(str, e.problems))
        return Verdict(
            Kind.STALLED,
            Reason.POLICY_INVALID,
            f"{problems}; connectors that run go on with the last good rules, others wait",
        )
    return Verdict(
        Kind.READY, Reason.ACCEPTED, "the rules and limits are good; connectors that name the policy follow them"
    )
