"""What a plan says where the connector names a TopicCreationPolicy, which the operator reads and the plan does not."""

from typing import Any

import pytest

from .planning import SINK, SOURCE, planned, problems

NAMED: dict[str, Any] = {"topicCreationPolicyRef": {"name": "shop-topics"}}
OFF = {"topic.creation.enable": "false"}
IGNORED = "is ignored: topic.creation.enable is false in the worker configuration"
RULES = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}


def test_a_connector_that_names_a_policy_may_have_rules_of_its_own_which_the_policy_may_allow() -> None:
    assert planned({**SOURCE, **RULES}, **NAMED).warnings == ()


def test_where_the_worker_creates_no_topics_a_policy_is_refused_as_rules_are() -> None:
    ((field, message),) = problems(SOURCE, OFF, **NAMED)
    assert field == "spec.topicCreationPolicyRef"
    assert message.startswith("would be ignored: topic.creation.enable is false in the worker configuration")


def test_where_the_worker_creates_no_topics_only_rules_are_refused() -> None:
    assert [w.property for w in planned({**SOURCE, "spec.url": "x"}, OFF).warnings] == ["spec.url"]
    assert {field for field, _ in problems({**SOURCE, **RULES}, OFF)} == {*RULES}


def test_a_sink_that_names_a_policy_is_warned_that_it_has_no_effect() -> None:
    assert [w.property for w in planned(SINK, **NAMED).warnings] == ["spec.topicCreationPolicyRef"]


def test_overrides_of_the_admin_client_reach_the_tasks_that_create_topics_by_a_policy() -> None:
    override = {"admin.override.client.id": "the-teams-own"}
    plan = planned({**SOURCE, **override}, **NAMED)
    assert plan.warnings == ()
    assert all(task.config.items() >= override.items() for task in plan.tasks)
    forbidden = problems({**SOURCE, **override}, {"connector.client.config.override.policy": "None"}, **NAMED)
    assert [field for field, _ in forbidden] == ["admin.override.client.id"]


def test_overrides_of_the_admin_client_count_too_where_a_policy_selects_the_connector() -> None:
    override = {"admin.override.client.id": "the-teams-own"}
    assert [w.property for w in planned({**SOURCE, **override}).warnings] == [*override]
    plan = planned({**SOURCE, **override}, policy_selects=True)
    assert plan.warnings == ()
    assert all(task.config.items() >= override.items() for task in plan.tasks)
    none = {"connector.client.config.override.policy": "None"}
    forbidden = problems({**SOURCE, **override}, none, policy_selects=True)
    assert [field for field, _ in forbidden] == ["admin.override.client.id"]


def test_where_the_worker_creates_no_topics_rules_of_a_connector_that_has_run_are_ignored_with_a_warning() -> None:
    plan = planned({**SOURCE, **RULES}, OFF, registered=True, **NAMED)
    assert {w.property for w in plan.warnings} == {*RULES, "spec.topicCreationPolicyRef"}
    assert all(w.message.startswith(IGNORED) for w in plan.warnings)
    assert {task.worker["topic.creation.enable"] for task in plan.tasks} == {"false"}


@pytest.mark.parametrize("registered", [False, True])
def test_a_policy_that_selects_keeps_no_connector_from_running_where_the_worker_creates_no_topics(
    registered: bool,
) -> None:
    (warning,) = planned(SOURCE, OFF, policy_selects=True, registered=registered).warnings
    assert warning.message.startswith("rules of the TopicCreationPolicy that selects this connector are ignored")
    assert planned(SINK, OFF, policy_selects=True, registered=registered).warnings == ()


ALICE = {"producer.override.sasl.jaas.config": 'PlainLoginModule required username="alice" password="x";'}


def for_records_alone(**config: str) -> list[str]:
    """What is told of credentials that count for records alone."""
    warnings = planned({**SOURCE, **config}).warnings
    return [f"{w.property}: {w.message}" for w in warnings if "applies to records only" in w.message]


def test_credentials_only_for_records_are_reported_where_topics_are_created_by_rule() -> None:
    """KIP-158, example 5: the client that creates topics has the worker's credentials."""
    (told,) = for_records_alone(**RULES, **ALICE)
    assert told.startswith("producer.override.sasl.jaas.config: ")
    assert "set admin.override.sasl.jaas.config too" in told
    assert "alice" not in told
    assert for_records_alone(**ALICE) == []


def test_credentials_for_records_and_topics_are_taken_as_they_are() -> None:
    """KIP-158, example 6."""
    both = {**ALICE, "admin.override.sasl.jaas.config": ALICE["producer.override.sasl.jaas.config"]}
    assert for_records_alone(**RULES, **both) == []
