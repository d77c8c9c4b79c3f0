"""What a TopicCreationPolicy comes to, by which rule it creates a topic, and which of its limits forbid one (KIP-158)."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock_model.connect.topic_creation_rules import TopicRules
from penstock_model.connect.topic_limits import TopicLimits, violations
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.contracts.topic_policy import PolicyRules, TopicPolicy
from penstock_model.resources.effective_topic_policy import MOST_BYTES, effective_policy

DEFAULT = {"replicationFactor": 3, "partitions": 5, "config": {"retention.ms": 60000}}
COMPACTED = {
    "name": "compacted",
    "include": [r"orders\..*", "a|b"],
    "exclude": [r".*\.tmp"],
    "partitions": 1,
    "config": {"cleanup.policy": "compact"},
}


def document(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "TopicCreationPolicy",
        "metadata": {"name": "shop-topics", "namespace": "shop"},
        "spec": {"default": DEFAULT, **spec},
    }


def rules(**spec: Any) -> TopicRules:
    return TopicRules.of_policy(the_rules(effective_policy(document(**spec))))


def the_rules(policy: TopicPolicy) -> PolicyRules:
    assert policy.rules is not None
    return policy.rules


def forbidden(topic: str, limits: dict[str, Any], **spec: Any) -> list[str]:
    policy = effective_policy(document(limits=limits, **spec))
    rule = TopicRules.of_policy(the_rules(policy)).group_of(topic)
    return violations([*map(TopicLimits.of, policy.limits)], topic, rule)


def test_only_the_first_group_that_matches_decides_and_takes_missing_numbers_from_default() -> None:
    found = rules(groups=[COMPACTED, {"name": "late", "include": ["orders.*"], "partitions": 9}])
    for topic, where, partitions, factor, settings in (
        ("orders.x", "group compacted", 1, 3, {"cleanup.policy": "compact"}),
        ("a", "group compacted", 1, 3, {"cleanup.policy": "compact"}),
        ("orders.x.tmp", "group late", 9, 3, {}),
        ("other", "default", 5, 3, {"retention.ms": "60000"}),
        ("xa", "default", 5, 3, {"retention.ms": "60000"}),  # a whole name, and not joined with its neighbours
    ):
        rule = found.group_of(topic)
        assert rule.where == f"{where} of the TopicCreationPolicy shop-topics"
        assert (rule.partitions, rule.replication_factor, dict(rule.settings)) == (partitions, factor, settings)


def test_each_pattern_is_compiled_separately() -> None:
    """Joined, two groups of one name are an error, and a list split at commas would break the second."""
    found = rules(groups=[{**COMPACTED, "include": ["(?<n>a).*", "(?<n>b{1,2})"]}])
    assert [found.group_of(t).name for t in ("ax", "bb", "bbb")] == ["compacted", "compacted", "default"]


@pytest.mark.parametrize(
    ("limits", "topic", "words"),
    [
        ({"topics": [r"shop\..*"]}, "other", r"limits.topics of the TopicCreationPolicy shop-topics allows shop\..*; "),
        (
            {"maxPartitions": 4},
            "other",
            "limits.maxPartitions of the TopicCreationPolicy shop-topics is 4, but default of "
            "the TopicCreationPolicy shop-topics requests 5",
        ),
        (
            {"minReplicationFactor": 4},
            "a",
            "limits.minReplicationFactor of the TopicCreationPolicy shop-topics is 4, but "
            "group compacted of the TopicCreationPolicy shop-topics requests 3",
        ),
        (
            {"config": ["retention.ms"]},
            "a",
            "limits.config of the TopicCreationPolicy shop-topics does not have cleanup.policy, which group compacted",
        ),
        ({"config": []}, "a", "limits.config of the TopicCreationPolicy shop-topics does not have cleanup.policy"),
    ],
)
def test_a_limit_that_forbids_a_topic_is_reported_with_policy_limit_and_rule(
    limits: dict[str, Any], topic: str, words: str
) -> None:
    (told,) = forbidden(topic, limits, groups=[COMPACTED])
    assert told.startswith(words)


def test_what_is_within_the_limits_is_allowed() -> None:
    limits = {
        "topics": ["a|b", "other"],
        "maxPartitions": 5,
        "minReplicationFactor": 3,
        "config": ["retention.ms", "cleanup.policy"],
    }
    assert [forbidden(t, limits, groups=[COMPACTED]) for t in ("a", "other")] == [[], []]
    assert forbidden("a", {}, groups=[COMPACTED]) == []


def test_broker_default_is_refused_under_a_limit_because_its_value_is_unknown() -> None:
    open_ended: dict[str, Any] = {"default": {}}
    told = forbidden("t", {"maxPartitions": 4, "minReplicationFactor": 1}, **open_ended)
    assert ["(-1), which is unknown in advance" in text for text in told] == [True, True]
    assert forbidden("t", {"topics": ["t"]}, **open_ended) == []


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"groups": [{"name": "g", "include": ["a("]}]}, "spec.groups.0.include.0", ""),
        ({"limits": {"topics": ["a("]}}, "spec.limits.topics.0", ""),
        ({"default": None}, "spec", "has neither rules (default, groups) nor limits"),
        ({"default": None, "groups": [COMPACTED]}, "spec", "groups: require default"),
        (
            {"connectorSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.connectorSelector.matchExpressions.0",
            "must have values with In and NotIn",
        ),
        ({"limits": {"topics": ["x" * 1000] * 17}}, "spec", "has 17,"),
    ],
)
def test_a_policy_that_cannot_be_applied_says_why_by_field(spec: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        effective_policy(document(**spec))
    (problem,) = caught.value.problems
    assert problem.property == field
    assert problem.message.startswith(words)


def test_all_that_is_wrong_with_a_policy_is_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        effective_policy(document(groups=[{"name": "a", "include": ["a("]}, {"name": "b", "include": ["b["]}]))
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    "pattern",
    ["a{1000000000}", "(?:a{900}){900}", "(" * 400 + "a" + ")" * 400, "[" * 200 + "a" + "]" * 200, "(a|" * 300],
)
def test_a_pattern_that_would_take_the_operators_memory_is_refused_unread(pattern: str) -> None:
    with pytest.raises(ConfigError) as caught:
        effective_policy(document(limits={"topics": [pattern]}))
    assert [p.property for p in caught.value.problems] == ["spec.limits.topics.0"]
    assert "; simplify it" in caught.value.problems[0].message


@pytest.mark.parametrize(
    "pattern",
    [r"[a-z]{1,63}\.[a-z0-9-]{1,63}\.[a-z]{1,63}", r"(?:shop|depot)\.(?:\w{1,40}\.)+v\d{1,3}", r"\Q{900}{900}{900}\E"],
)
def test_patterns_as_people_write_them_are_taken(pattern: str) -> None:
    assert effective_policy(document(limits={"topics": [pattern]})).limits[0].topics == (pattern,)


def test_another_order_of_patterns_or_names_and_limits_of_nothing_are_no_edit() -> None:
    limits = {"topics": ["a", "b"], "config": ["x", "y"]}
    first = effective_policy(document(groups=[COMPACTED], limits=limits))
    swapped = {**COMPACTED, "include": ["a|b", r"orders\..*", "a|b"]}
    again = document(groups=[swapped], limits={"topics": ["b", "a"], "config": ["y", "x"]})
    again["metadata"] |= {"resourceVersion": "7", "labels": {"a": "b"}}
    assert effective_policy(again) == first
    assert effective_policy(document(limits={})) == effective_policy(document())


def test_a_policy_of_the_greatest_size_is_taken() -> None:
    policy = document()
    policy["spec"]["default"] = {**DEFAULT, "config": {"x": ""}}
    size = len(json.dumps(policy["spec"], separators=(",", ":")))
    policy["spec"]["default"]["config"]["x"] = "y" * (MOST_BYTES - size)
    assert the_rules(effective_policy(policy)).default.config["x"].startswith("y")


GOLDEN = Path(__file__).parent / "golden" / "taskspec-v1-topic-policy.json"


def test_a_task_spec_with_a_policy_is_written_and_read_as_ever() -> None:
    golden = json.loads(GOLDEN.read_text())
    spec = TaskSpec.from_json(GOLDEN.read_text())
    limits = {"maxPartitions": 50, "topics": [r"shop\..*"]}
    assert spec.topic_policy == effective_policy(document(groups=[COMPACTED], limits=limits))
    assert json.loads(spec.to_json()) == golden
    assert isinstance(spec.topic_policy, TopicPolicy)
    assert "topicPolicy" not in json.loads(spec.model_copy(update={"topic_policy": None}).to_json())
