"""How a source's topics are created: whether its rules can be followed (KIP-158)."""

from collections.abc import Mapping

from penstock_model.connect.topic_creation_rules import PREFIX, TopicRules, ineffective_properties
from penstock_model.connect.worker_config import WorkerConfig
from penstock_runtime.plan.problems import Findings

__all__ = ["check_topic_rules"]


def check_topic_rules(
    kind: str, config: Mapping[str, str], worker: WorkerConfig, findings: Findings, *, has_policy: bool = False
) -> None:
    """Refuse rules that are wrong, as Kafka Connect does when the connector starts, and rules that have no effect.

    Args:
        kind: `source` or `sink`.
        config: the connector's properties, resolved.
        worker: resolved.
        findings: gets problems and warnings.
        has_policy: the connector names a TopicCreationPolicy, which the operator reads.
    """
    if kind == "sink":
        if has_policy:
            findings.warn("spec.topicCreationPolicy", "has no effect: sinks create no topics")
        for name in config:
            if name.startswith(PREFIX):
                findings.warn(name, "has no effect: sinks create no topics")
        return
    if worker.topic_creation_enable:
        findings.attempt(lambda: TopicRules.of(config, enabled=True))
        findings.warnings += ineffective_properties(config)
        return
    named = ["spec.topicCreationPolicy"] if has_policy else []
    for name in (*(n for n in config if n.startswith(PREFIX)), *named):
        findings.refuse(
            name, "would be ignored: topic.creation.enable is false in the worker configuration; remove one of them"
        )
