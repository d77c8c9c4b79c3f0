"""What the resources that a Connector refers to come to for it. Frozen."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_operator.reasons import Reason

__all__ = ["NO_POLICY", "OWN_PLUGIN", "PluginResolution", "PolicyProblem", "PolicyResolution"]


class PolicyProblem(NamedTuple):
    """Why a policy cannot be applied: a reason and a sentence."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class PolicyResolution:
    """What the policies of the namespace come to for one Connector.

    Attributes:
        effective: what its tasks are to have; None: no policy applies, or none that can be applied.
        problem: why the policy cannot be applied; None: it can, or none is named.
    """

    effective: TopicPolicy | None = None
    problem: PolicyProblem | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing can be planned, since there are no last good rules either."""
        return self.problem is not None and self.effective is None


NO_POLICY: Final = PolicyResolution()


@dataclass(frozen=True, slots=True)
class PluginResolution:
    """What class and version of a Connector come to.

    Attributes:
        mounts: the images that its pods mount, the connector's first; empty: the plugin is the runtime's own.
        problems: why none can be chosen. The mounts are those of the last plan then, where they are of the same class.
        is_missing: a PluginVersion is not there, which may still come.
    """

    mounts: tuple[PluginMount, ...] = ()
    problems: tuple[str, ...] = ()
    is_missing: bool = False


OWN_PLUGIN: Final = PluginResolution()
