"""Fields that the resource has and this release does not carry out yet: refused with the reason, never in silence. Pure."""

from collections.abc import Iterator

from penstock.errors import Problem
from penstock.resources import ConnectorSpec

__all__ = ["not_yet"]


def not_yet(spec: ConnectorSpec) -> Iterator[Problem]:
    """What is asked for that would not be done."""
    if spec.topic_creation_policy is not None:
        yield Problem(
            "spec.topicCreationPolicy",
            "policies are not applied in this release; remove it, and create the topics, or let the broker create them",
        )
    if spec.spark.executors:
        yield Problem("spec.spark.executors", "Spark runs in the task's own pod in this release; remove it, or write 0")
