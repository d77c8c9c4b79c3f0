"""How a source's topics are created: whether its rules can be followed (KIP-158)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock_model.connect.topic_creation_rules import PREFIX, TopicRules, ineffective_properties
from penstock_model.connect.worker_config import WorkerConfig
from penstock_runtime.plan.problems import Findings

__all__ = ["PolicyUse", "check_topic_rules"]

_FIELD: Final = "spec.topicCreationPolicy"


class PolicyUse(NamedTuple):
    """By what a TopicCreationPolicy applies to a connector; the operator reads it, and no plan does.

    Attributes:
        named: the connector names one.
        selected: one that it does not name selects it.
    """

    named: bool = False
    selected: bool = False

    @property
    def applies(self) -> bool:
        """Whether there is one at all."""
        return self.named or self.selected


def check_topic_rules(
    kind: str, config: Mapping[str, str], worker: WorkerConfig, findings: Findings, policy: PolicyUse
) -> None:
    """Refuse rules that are wrong, as Kafka Connect does when the connector starts, and rules that have no effect.

    Args:
        kind: `source` or `sink`.
        config: the connector's properties, resolved.
        worker: resolved.
        findings: gets problems and warnings.
        policy: by what a TopicCreationPolicy applies.
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
    named = [_FIELD] if policy.named else []
    off = "would be ignored: topic.creation.enable is false in the worker configuration; "
    for name in (*(n for n in config if n.startswith(PREFIX)), *named):
        findings.refuse(name, f"{off}remove one of them")
    if policy.selected:
        findings.refuse("", f"the TopicCreationPolicy that selects this connector {off}have one of them removed")
