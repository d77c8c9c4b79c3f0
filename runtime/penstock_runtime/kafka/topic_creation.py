"""Creates the topics of a source by its rules and within limits, before the first record goes there (KIP-158)."""

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

_MOST_TOLD: Final = 10
"""Forbidden topics that a message names."""


class TopicCreator:
    """Creates the topics that one process writes to. Each is checked once: one that is deleted later is not created again.

    Args:
        settings: how to connect; topics are created on the cluster that producers write to.
        rules: of the source's `topic.creation.*`, or of a policy; None: there are limits alone, and none is created.
        limits: of all policies that apply. They hold for topics that are created; one that exists is taken as it is.
        is_off: there are no rules because the worker configuration creates no topics.
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
        """Create those of these topics that do not exist, all in one request; existing ones stay as they are.

        Raises:
            RetriableError: no broker answered; another call creates what is still missing.
            ConfigError: a limit forbids one of them, or no rule says how, and then none is created. No retry helps.
            ConnectError: a topic cannot be created, or the right is missing. `errors.tolerance` does not cover any of these.
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
            Problem("", f"Topic '{topic}' may not be created: {'; and '.join(texts)}")
            for topic, texts in forbidden[:_MOST_TOLD]
        ]
        if (more := len(forbidden) - _MOST_TOLD) > 0:
            problems.append(Problem("", f"and {more} more topics may not be created"))
        raise ConfigError(problems)


def _requested(topic: str, rule: TopicGroup) -> RequestedTopic:
    def words(error: KafkaError) -> str:
        hint = ""
        if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
            hint = (
                f" {rule.replication_factor} replicas were asked for; set {rule.factor_field} to what the cluster has, or "
                f"-1 for its default."
            )
        return f"{_refused(topic, rule, error)}{hint}"

    return RequestedTopic(topic, rule.partitions, rule.replication_factor, rule.settings, rule.where, words)


def _refused(topic: str, rule: TopicGroup, error: KafkaError) -> str:
    """Why a topic could not be created by its rule, in Kafka Connect's words."""
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        settings = ", ".join(f"{name}={text}" for name, text in rule.settings.items())
        return (
            f"Task failed to create new topic (name={topic}, numPartitions={rule.partitions}, "
            f"replicationFactor={rule.replication_factor}, replicasAssignments=null, configs={{{settings}}}). Ensure that "
            f"the task is authorized to create topics or that the topic exists and restart the task. The right Create is "
            f"needed on the topic or on the cluster."
        )
    return f"Unable to create topic(s) '{topic}': {error.str()} ({error.name()}), by the rule {rule.where}."
