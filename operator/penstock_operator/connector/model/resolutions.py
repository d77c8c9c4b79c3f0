"""Resolutions of the resources that a Connector refers to. Immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_operator.connector.model.plans import PluginRequest
from penstock_operator.reasons import Reason

__all__ = ["NO_POLICY", "OWN_PLUGIN", "PluginResolution", "PolicyProblem", "PolicyResolution"]


class PolicyProblem(NamedTuple):
    """Reason and message why a policy cannot be applied."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class PolicyResolution:
    """Resolution of the policies of the namespace for one Connector.

    Attributes:
        effective: the policy for its tasks; None: no policy applies, or none can be applied.
        problem: why the policies cannot be applied as they are; None: they can, or none applies.
        blocks: whether the problem prevents a source from starting, since it has no earlier rules to keep.
        selects: whether rules or limits come from a policy that the Connector does not name.
        refused: problems of the Connector's own `topic.creation.*` with these policies.
    """

    effective: TopicPolicy | None = None
    problem: PolicyProblem | None = None
    blocks: bool = False
    selects: bool = False
    refused: tuple[str, ...] = ()


NO_POLICY: Final = PolicyResolution()


@dataclass(frozen=True, slots=True)
class PluginResolution:
    """Resolution of the classes and versions of a Connector.

    Attributes:
        mounts: the images that its pods mount, each with its places; other places have plugins of the runtime.
        requests: requests for which the mounts were chosen.
        unoffered: classes that neither Penstock nor a PluginVersion provides, by the property that names each.
        problems: why no mounts can be chosen. The mounts are then those of the last plan, if its connector has the same
            class.
        is_missing: whether PluginVersions are missing that may still be created.
        newer: newer PluginVersions that a restart would use.
        passed_over: message for each newer PluginVersion that a restart would not use until it is verified.
    """

    mounts: tuple[PluginMount, ...] = ()
    requests: tuple[PluginRequest, ...] = ()
    unoffered: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    is_missing: bool = False
    newer: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()


OWN_PLUGIN: Final = PluginResolution()
