"""How a source's topics are created: whether its rules can be followed (KIP-158)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock_model.connect.topic_creation_rules import PREFIX, TopicRules, ineffective_properties
from penstock_model.connect.worker_config import WorkerConfig
from penstock_runtime.plan.problems import Findings

__all__ = ["PolicyUse", "check_topic_rules"]

_FIELD: Final = "spec.topicCreationPolicyRef"
_OFF: Final = "topic.creation.enable is false in the worker configuration"


class PolicyUse(NamedTuple):
    """By what a TopicCreationPolicy applies to a connector; the operator reads it, and no plan does.

    Attributes:
        named: the connector names one.
        selected: one that it does not name selects it.
        registered: the operator has run this connector before (KIP-158, `topic.creation.enable`).
    """

    named: bool = False
    selected: bool = False
    registered: bool = False

    @property
    def applies(self) -> bool:
        """Whether there is one at all."""
        return self.named or self.selected


def check_topic_rules(
    kind: str, config: Mapping[str, str], worker: WorkerConfig, findings: Findings, policy: PolicyUse
) -> None:
    """Refuse rules that are wrong, as Kafka Connect does when the connector starts.

    With `topic.creation.enable=false` rules of a new connector are refused, and those of one that has run before are
    ignored with a warning: a plan that is refused would leave its tasks creating topics by the last one.

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
    for name in (*(n for n in config if n.startswith(PREFIX)), *([_FIELD] if policy.named else [])):
        if policy.registered:
            findings.warn(name, f"is ignored: {_OFF}; the brokers create missing topics, if they do so by themselves")
        else:
            findings.refuse(name, f"would be ignored: {_OFF}; remove one of them")
    if policy.selected:
        what = "rules of the TopicCreationPolicy that selects this connector are ignored, and its limits hold"
        findings.warn("", f"{what}: {_OFF}")
