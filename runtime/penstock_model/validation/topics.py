"""Check the rules for creating a source's topics (KIP-158)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock_model.connect.topic_creation_rules import PREFIX, TopicRules, ineffective_properties
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.validation.findings import Findings

__all__ = ["PolicyUse", "check_topic_rules"]

_FIELD: Final = "spec.topicCreationPolicyRef"
_OFF: Final = "topic.creation.enable is false in the worker configuration"


class PolicyUse(NamedTuple):
    """Use of a TopicCreationPolicy by a connector. Only the operator reads the policy, never a plan.

    Attributes:
        named: whether the connector names a policy.
        selected: whether a policy that the connector does not name selects it.
        registered: whether the operator has run this connector before (KIP-158, `topic.creation.enable`).
    """

    named: bool = False
    selected: bool = False
    registered: bool = False

    @property
    def applies(self) -> bool:
        """Return whether any policy applies."""
        return self.named or self.selected


def check_topic_rules(
    kind: str, config: Mapping[str, str], worker: WorkerConfig, findings: Findings, policy: PolicyUse
) -> None:
    """Reject invalid rules, as Kafka Connect does when the connector starts.

    With `topic.creation.enable=false`, rules of a new connector are rejected, and those of a connector that has run before
    are ignored with a warning: if the plan were rejected, its tasks would still create topics by the previous plan.

    Args:
        kind: `source` or `sink`.
        config: the connector's properties, resolved.
        worker: worker configuration, resolved.
        findings: receives problems and warnings.
        policy: how a TopicCreationPolicy applies.
    """
    if kind == "sink":
        if policy.named:
            findings.warn(_FIELD, "has no effect: sinks create no topics")
        for name in config:
            if name.startswith(PREFIX):
                findings.warn(name, "has no effect: sinks create no topics")
        return
    if worker.topic_creation_enable:
        findings.attempt(lambda: TopicRules.of(config, enabled=True))
        findings.warnings += ineffective_properties(config)
        return
    for name in (*(n for n in config if n.startswith(PREFIX)), *([_FIELD] if policy.named else [])):
        if policy.registered:
            findings.warn(name, f"is ignored: {_OFF}; brokers with automatic topic creation create missing topics")
        else:
            findings.refuse(name, f"would be ignored: {_OFF}; remove one of them")
    if policy.selected:
        what = "rules of the TopicCreationPolicy that selects this connector are ignored, but its limits apply"
        findings.warn("", f"{what}: {_OFF}")
