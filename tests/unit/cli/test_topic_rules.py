"""`penstock topics`: the rule that would create a topic, from where, with what, and the limit that refuses it (KIP-158)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from .command import Done, penstock

POLICY: dict[str, Any] = {
    "default": {"partitions": 2, "config": {"retention.ms": 60000}},
    "groups": [
        {"name": "tables", "include": [r"shop\..*\.table"], "partitions": 5, "config": {"cleanup.policy": "compact"}}
    ],
    "limits": {"maxPartitions": 3, "topics": [r"shop\..*"]},
}


class Files:
    """The files of a user."""

    def __init__(self, folder: Path) -> None:
        self.connector, self.policy = folder / "connector.yaml", folder / "policy.yaml"

    def write(self, config: dict[str, Any] | None = None, *, policy: str | None = "shop", **policies: Any) -> None:
        spec: dict[str, Any] = {"class": "Datagen", "config": config or {}}
        if policy is not None:
            spec["topicCreationPolicyRef"] = {"name": policy}
        self._dump(self.connector, ("Connector", "orders", spec))
        self._dump(
            self.policy, *(("TopicCreationPolicy", n, found) for n, found in (policies or {"shop": POLICY}).items())
        )

    def topics(self, *arguments: str, with_policy: bool = True) -> Done:
        words = ["--policy", str(self.policy)] if with_policy else []
        return penstock("topics", self.connector, *words, *arguments)

    def _dump(self, file: Path, *resources: tuple[str, str, dict[str, Any]]) -> None:
        labels = {"team": "shop"}
        file.write_text(
            yaml.safe_dump_all(
                {
                    "apiVersion": "penstock.dev/v1alpha1",
                    "kind": kind,
                    "metadata": {"name": name, "labels": labels},
                    "spec": spec,
                }
                for kind, name, spec in resources
            )
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_each_topic_has_its_rule_with_its_place_or_the_limits_that_refuse_it(files: Files) -> None:
    files.write()
    done = files.topics("shop.orders", "shop.a.table", "orders")
    assert done.stdout.splitlines() == [
        "shop.orders: default of the TopicCreationPolicy shop: 2 partitions, the brokers' default number of replicas, "
        "retention.ms=60000",
        "shop.a.table: refused: limits.maxPartitions of the TopicCreationPolicy shop is 3, but group tables of the "
        "TopicCreationPolicy shop requests 5",
        r"orders: refused: limits.topics of the TopicCreationPolicy shop allows shop\..*; use a topic whose whole "
        "name matches, or ask an administrator to extend the limit or to create the topic",
    ]
    assert done.returncode == 1
    assert files.topics("shop.orders").returncode == 0


def test_without_a_policy_the_connectors_own_rules_are_shown_or_that_there_are_none(files: Files) -> None:
    own = {
        "topic.creation.groups": "big",
        "topic.creation.default.partitions": 1,
        "topic.creation.default.replication.factor": 3,
        "topic.creation.big.include": "b.*",
        "topic.creation.big.partitions": 12,
        "topic.creation.big.cleanup.policy": "compact",
    }
    files.write(own, policy=None)
    done = files.topics("big", "small", with_policy=False)
    assert done.stdout.splitlines() == [
        "big: topic.creation.big: 12 partitions, 3 replicas, cleanup.policy=compact",
        "small: topic.creation.default: 1 partition, 3 replicas",
    ]
    files.write(policy=None)
    assert "no rule; the brokers create it" in files.topics("big", with_policy=False).stdout


def test_policies_that_select_the_connector_apply_as_on_the_cluster(files: Files) -> None:
    own = {"topic.creation.default.partitions": 2, "topic.creation.default.replication.factor": 3}
    rails = {"limits": {"maxPartitions": 3}, "connectorSelector": {}}
    shop = {**POLICY, "connectorSelector": {"matchLabels": {"team": "shop"}}, "overridePolicy": "Allow"}
    stock = {**shop, "connectorSelector": {"matchLabels": {"team": "stock"}}}
    files.write(policy=None, rails=rails, stock=stock)
    refused = files.topics("orders")
    assert refused.returncode == 1
    assert (
        "the TopicCreationPolicy rails limits how topics are created, but no rule applies to this one" in refused.stdout
    )
    files.write(own, policy=None, rails=rails, stock=stock)
    assert files.topics("orders").stdout == "orders: topic.creation.default: 2 partitions, 3 replicas\n"
    files.write(policy=None, rails=rails, shop=shop, stock=stock)
    assert files.topics("shop.orders").stdout.startswith("shop.orders: default of the TopicCreationPolicy shop: 2 part")
    files.write(own, policy=None, rails=rails, shop=shop)
    assert files.topics("shop.orders").stdout == "shop.orders: topic.creation.default: 2 partitions, 3 replicas\n"


@pytest.mark.parametrize(
    ("own", "policies", "told"),
    [
        (
            {},
            {"one": {**POLICY, "connectorSelector": {}}, "two": {**POLICY, "connectorSelector": {}}},
            "the TopicCreationPolicies one and two select this connector, and each has rules",
        ),
        (
            {"topic.creation.default.partitions": 5, "topic.creation.default.replication.factor": 3},
            {"rails": {"limits": {"maxPartitions": 3}, "connectorSelector": {}}},
            "topic.creation.default: limits.maxPartitions of the TopicCreationPolicy rails is 3, but topic.creation.default "
            "requests 5",
        ),
        (
            {},
            {"rails": {"limits": {"topics": ["a("]}, "connectorSelector": {}}},
            "rails: this TopicCreationPolicy cannot be applied: spec.limits.topics.0: ",
        ),
    ],
)
def test_what_the_cluster_would_refuse_is_refused(
    files: Files, own: dict[str, Any], policies: dict[str, Any], told: str
) -> None:
    files.write(own, policy=None, **policies)
    done = files.topics("orders")
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("config", "policy", "with_policy", "told"),
    [
        ({}, "shop", False, "--policy: is missing: the Connector names the policy shop; pass its file"),
        ({}, "other", True, "spec.topicCreationPolicyRef: names other, but"),
        ({}, None, True, "spec.topicCreationPolicyRef: is missing, and no policy in "),
        (
            {"topic.creation.groups": "a"},
            "shop",
            True,
            "the TopicCreationPolicy shop has rules for this connector, but spec.config has topic.creation.groups",
        ),
        ({"topic.creation.default.partitions": "many"}, None, False, "topic.creation.default."),
        ({"topic.creation.default.partitions": "${env:NO_SUCH}"}, None, False, "NO_SUCH"),
    ],
)
def test_what_cannot_be_reported_says_why(
    files: Files, config: dict[str, Any], policy: str | None, with_policy: bool, told: str
) -> None:
    files.write(config, policy=policy)
    done = files.topics("orders", with_policy=with_policy)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
