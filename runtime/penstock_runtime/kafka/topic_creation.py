"""Create a source's topics by its rules and within limits, before the first record is written to them (KIP-158)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from confluent_kafka import KafkaError

from penstock.errors import ConfigError, Problem
from penstock_model.connect.topic_creation_rules import TopicGroup, TopicRules
from penstock_model.connect.topic_limits import TopicLimits, violations
from penstock_runtime.kafka.admin import Admin, RequestedTopic
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["TopicCreator"]

_MOST_NAMED: Final = 10
"""Maximum number of forbidden topics that a message names."""


class TopicCreator:
    """Creator of the topics that one process writes to. Checks each topic once: a topic deleted later is not created again.

    Args:
        settings: client settings; topics are created on the cluster that producers write to.
        rules: rules of the source's `topic.creation.*`, or of a policy; None: no topic is created, only limits are checked.
        limits: limits of all policies that apply. They apply to topics that are created, not to existing ones.
        is_off: whether there are no rules because topic creation is disabled in the worker configuration.
    """

    def __init__(
        self,
        settings: ClientSettings,
        rules: TopicRules | None,
        limits: Sequence[TopicLimits] = (),
        *,
        is_off: bool = False,
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._limits = limits
        self._is_off = is_off
        self._existing: set[str] = set()

    @cached_property
    def _cluster(self) -> Admin:
        return Admin(self._settings, servers=self._settings.bootstrap)

    def ensure(self, topics: Iterable[str]) -> None:
        """Create the topics that do not exist, all in one request. Existing topics are not changed.

        Raises:
            RetriableError: no broker answered; another call creates the topics that are still missing.
            ConfigError: a limit forbids a topic, or no rule applies to it; then none is created. Retrying does not help.
            ConnectError: a topic cannot be created, or a permission is missing.

        `errors.tolerance` covers none of these errors.
        """
        unchecked = sorted({*topics} - self._existing)
        if not unchecked:
            return
        missing = self._cluster.missing(unchecked)
        self._existing.update({*unchecked} - {*missing})
        if not missing:
            return
        rules = {topic: None if self._rules is None else self._rules.group_of(topic) for topic in missing}
        self._check_limits(rules)
        self._cluster.create([_requested(topic, rule) for topic, rule in rules.items() if rule is not None])
        self._existing.update(missing)

    def _check_limits(self, rules: Mapping[str, TopicGroup | None]) -> None:
        found = ((topic, violations(self._limits, topic, rule, is_off=self._is_off)) for topic, rule in rules.items())
        forbidden = [(topic, texts) for topic, texts in found if texts]
        if not forbidden:
            return
        problems = [
            Problem("", f"cannot create topic '{topic}': {'; and '.join(texts)}")
            for topic, texts in forbidden[:_MOST_NAMED]
        ]
        if (more := len(forbidden) - _MOST_NAMED) > 0:
            problems.append(Problem("", f"cannot create {more} more topics for similar reasons"))
        raise ConfigError(problems)


def _requested(topic: str, rule: TopicGroup) -> RequestedTopic:
    def words(error: KafkaError) -> str:
        hint = ""
        if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
            hint = (
                f" {rule.replication_factor} replicas were requested; set {rule.factor_field} to at most the number of "
                f"brokers, or to -1 for their default."
            )
        return f"{_refused(topic, rule, error)}{hint}"

    return RequestedTopic(topic, rule.partitions, rule.replication_factor, rule.settings, rule.where, words)


def _refused(topic: str, rule: TopicGroup, error: KafkaError) -> str:
    """Return why a topic could not be created by its rule, worded as in Kafka Connect."""
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        settings = ", ".join(f"{name}={text}" for name, text in rule.settings.items())
        return (
            f"Task failed to create new topic (name={topic}, numPartitions={rule.partitions}, "
            f"replicationFactor={rule.replication_factor}, replicasAssignments=null, configs={{{settings}}}). Ensure that "
            f"the task is authorized to create topics or that the topic exists and restart the task. The Create "
            f"permission is needed on the topic or on the cluster."
        )
    return f"Unable to create topic(s) '{topic}': {error.str()} ({error.name()}), requested by {rule.where}."
