"""`kubectl penstock plan` names the topics that an edited Connector would create, as far as they are known."""

from typing import Any

import pytest

from penstock_cli.kubectl.plan_changes import changes_of
from penstock_cli.kubectl.planned_topics import concerns_topics, planned_topics

Json = dict[str, Any]
PLUGIN_KNOWS = "(only the plugin knows their names; check one with `penstock topics`)"
OWN_RULES = {"topic.creation.default.partitions": 2, "topic.creation.default.replication.factor": -1}
POLICY: Json = {
    "default": {"partitions": 2, "config": {"retention.ms": "60000"}},
    "groups": [
        {
            "name": "tables",
            "include": [r"shop\..*\.table"],
            "exclude": [r"shop\.x\..*"],
            "partitions": 5,
            "replicationFactor": 3,
            "config": {"cleanup.policy": "compact"},
        }
    ],
}


def connector(config: Json, class_name: str = "Datagen", **more: Any) -> Json:
    metadata = {"name": "orders", "namespace": "shop", "labels": {"team": "shop"}}
    spec = {"class": class_name, "config": config, **more.pop("spec", {})}
    return {"kind": "Connector", "metadata": metadata, "spec": spec, **more}


def policy(name: str = "shop", **spec: Any) -> Json:
    return {"kind": "TopicCreationPolicy", "metadata": {"name": name}, "spec": {"connectorSelector": {}, **spec}}


def planned(after: Json, before: Json | None = None, *policies: Json) -> list[list[str]]:
    """The lines of the section, each split where columns end."""
    text = planned_topics(after, before, policies)
    return [[cell.strip() for cell in line.split("   ") if cell] for line in text.splitlines()]


def test_a_topic_of_a_built_in_source_is_named_with_its_rule() -> None:
    assert planned_topics(connector({"topic": "orders", **OWN_RULES}), None, ()) == (
        "Topics that would be created, if they do not exist:\n"
        "TOPIC    PARTITIONS   REPLICATION        SETTINGS   FROM\n"
        "orders   2            broker's default   -          topic.creation.default\n"
    )


def test_the_rule_is_that_of_the_policy_which_selects_the_connector() -> None:
    lines = planned(connector({"topic": "shop.eu.table"}), None, policy(**POLICY))
    assert lines[2:] == [
        ["shop.eu.table", "5", "3", "cleanup.policy=compact", "group tables of the TopicCreationPolicy shop"]
    ]
    other = policy(connectorSelector={"matchLabels": {"team": "stock"}}, default={"partitions": 9})
    assert planned(connector({"topic": "a"}), None, other)[2][4] == "the brokers, if auto.create.topics.enable is true"


def test_a_limit_that_refuses_the_topic_is_named() -> None:
    limits = {"maxPartitions": 3, "topics": [r"shop\..*"]}
    refused = planned_topics(connector({"topic": "shop.a.table"}), None, [policy(**POLICY, limits=limits)])
    assert "TOPIC" not in refused
    assert "shop.a.table: refused: limits.maxPartitions of the TopicCreationPolicy shop is 3, but group" in refused
    without = planned_topics(connector({"topic": "orders"}), None, [policy(limits=limits)])
    assert r"orders: refused: limits.topics of the TopicCreationPolicy shop allows shop\..*" in without
    assert "no rule applies to this one" in without


def test_rules_are_shown_where_only_the_plugin_knows_the_topics() -> None:
    debezium = connector({"topic.prefix": "shop"}, "io.debezium.connector.postgresql.PostgresConnector")
    rails = policy("rails", limits={"maxPartitions": 3, "topics": [r"shop\..*"]})
    lines = planned(debezium, None, policy(**POLICY), rails)
    assert PLUGIN_KNOWS in lines[0][0]
    default = "default of the TopicCreationPolicy shop"
    assert lines[2] == ["all others", "2", "broker's default", "retention.ms=60000", default]
    assert lines[3:] == [
        [r"limits.topics of the TopicCreationPolicy rails allows only shop\..*"],
        [
            r"shop\..*\.table except shop\.x\..*: refused: limits.maxPartitions of the TopicCreationPolicy rails is 3, but "
            "group tables of the TopicCreationPolicy shop requests 5"
        ],
    ]
    assert planned(debezium)[2][0] == "all"


@pytest.mark.parametrize(
    ("config", "cause"),
    [
        ({"topic": "${env:TOPIC}"}, "config.topic has a variable"),
        ({"topic": "a", "transforms": "${env:T}"}, "config.transforms has a variable"),
        ({"topic": "a", "transforms": "r", "transforms.r.type": "RegexRouter"}, "transforms.r may replace their names"),
        (
            {
                "topic": "a",
                "transforms": "r",
                "transforms.r.type": "org.apache.kafka.connect.transforms.TimestampRouter",
            },
            "transforms.r may replace their names",
        ),
        ({"topic": "a", "transforms": "r", "transforms.r.type": "com.example.Mask"}, "transforms.r may replace"),
        ({"topic": "a", "transforms": "r"}, "transforms.r may replace their names"),
    ],
)
def test_the_cause_is_named_if_a_topic_is_not_known(config: Json, cause: str) -> None:
    assert cause in planned(connector(config))[0][0]


def test_transforms_that_keep_the_topic_do_not_hide_it() -> None:
    config = {"topic": "a", "transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "x"}
    assert planned(connector(config))[2][0] == "a"


def test_a_topic_that_the_connector_has_used_is_not_created() -> None:
    before = connector({"topic": "orders", "rate": 1}, status={"activeTopics": [{"name": "orders"}]})
    assert planned_topics(connector({"topic": "orders", "rate": 2}), before, ()) == ""
    assert planned(connector({"topic": "other", "rate": 2}), before)[2][0] == "other"


def test_a_sink_creates_only_its_dead_letter_queue() -> None:
    sink = connector({"topics": "orders"}, "com.example.Sink")
    assert planned_topics(sink, None, [policy(**POLICY)]) == ""
    dead = {"errors.deadletterqueue.topic.name": "dead", "errors.deadletterqueue.topic.replication.factor": 1}
    with_queue = connector({"topics": "orders", **dead}, "com.example.Sink")
    assert planned(with_queue, sink)[2] == ["dead", "1", "1", "-", "errors.deadletterqueue.topic.name"]
    assert planned(with_queue, with_queue) == []


def test_a_running_source_is_known_by_its_status_even_if_it_has_topics() -> None:
    source = connector({"topics": "a"}, "com.example.Mqtt", status={"connector": {"type": "source"}})
    assert PLUGIN_KNOWS in planned(source, source)[0][0]


def test_internal_topics_that_a_source_names_are_listed() -> None:
    source = connector({"topic": "orders", "offsets.storage.topic": "own-offsets"})
    assert planned(source)[3][:2] == ["own-offsets", "of the release"]


@pytest.mark.parametrize(
    ("config", "policies", "cause"),
    [
        ({}, "kubectl get: forbidden", "kubectl get: forbidden"),
        ({}, [policy("a", **POLICY), policy("b", **POLICY)], "the TopicCreationPolicies a and b select this connector"),
        ({}, [policy(default={"partitions": 1}, groups=[{"name": "a", "include": ["("]}])], "Invalid regex"),
        (OWN_RULES, [policy(**POLICY)], "only one of them can apply"),
        ({**OWN_RULES, "topic.creation.default.partitions": 0}, [], "Number of partitions must be positive"),
        (
            {**OWN_RULES, "topic.creation.default.partitions": "${env:P}"},
            [],
            "only a pod knows the values of variables",
        ),
    ],
)
def test_the_topic_is_named_even_if_the_rules_are_not_known(config: Json, policies: Any, cause: str) -> None:
    text = planned_topics(connector({"topic": "orders", **config}), None, policies)
    assert "\norders   -            -             -          -\n" in text
    assert "The rules are unknown: " in text
    assert cause in text


def test_a_policy_that_does_not_exist_is_named() -> None:
    named = connector({"topic": "orders"}, spec={"topicCreationPolicyRef": {"name": "missing"}})
    assert "the TopicCreationPolicy missing does not exist" in planned_topics(named, None, ())


@pytest.mark.parametrize(
    ("changes", "is_concerned"),
    [
        ({"config": {"topic": "b"}}, True),
        ({"topicCreationPolicyRef": {"name": "p"}}, True),
        ({"state": "Paused", "tasksMax": 3}, False),
    ],
)
def test_topics_are_named_only_for_edits_that_concern_them(changes: Json, *, is_concerned: bool) -> None:
    before = connector({"topic": "a"})
    after = {**before, "spec": {**before["spec"], **changes}}
    assert concerns_topics(changes_of(before, after)) is is_concerned
