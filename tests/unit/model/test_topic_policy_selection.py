"""Which policies bind a connector, and whose rules and limits it has then (KIP-158)."""

from typing import Any

import pytest

from penstock_model.resources.topic_policy_selection import PolicyBinding, bind, rivalry, selector_of

RULES: dict[str, Any] = {"default": {"replicationFactor": 3, "partitions": 5}}
INLINE = {"topic.creation.default.partitions": "2", "topic.creation.default.replication.factor": "3"}


def policy(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "penstock.dev/v1alpha1", "kind": "TopicCreationPolicy", "metadata": metadata, "spec": spec}


def limits(name: str, most: int = 3, **spec: Any) -> dict[str, Any]:
    return policy(name, limits={"maxPartitions": most}, **spec)


def bound(
    *documents: dict[str, Any],
    named: str | None = None,
    labels: dict[str, str] | None = None,
    config: dict[str, str] | None = None,
) -> PolicyBinding:
    return bind(named, labels or {}, config or {}, documents)


def what(found: PolicyBinding) -> tuple[str | None, list[str]]:
    """Whose rules, and whose limits."""
    if found.policy is None:
        return None, []
    rules = found.policy.rules
    return None if rules is None else rules.policy, [each.policy for each in found.policy.limits]


@pytest.mark.parametrize(
    ("selector", "labels", "selects"),
    [
        ({}, {}, True),
        ({}, {"team": "shop"}, True),
        (None, {"team": "shop"}, False),
        ({"matchLabels": {"team": "shop"}}, {"team": "shop", "tier": "gold"}, True),
        ({"matchLabels": {"team": "shop"}}, {"team": "stock"}, False),
        ({"matchLabels": {"team": ""}}, {}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, {"team": "b"}, True),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, {}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, {}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, {"team": "a"}, False),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, {"team": ""}, True),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, {}, False),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, {}, True),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, {"a": "1"}, False),
        ({"matchLabels": "all"}, {}, False),
        ("all", {}, False),
    ],
)
def test_a_selector_takes_connectors_as_kubernetes_selectors_take_pods(
    selector: Any, labels: dict[str, str], selects: bool
) -> None:
    document = limits("rails", connectorSelector=selector)
    found = selector_of(document)
    assert (found is not None and found.selects(labels)) is selects
    if found is not None:
        assert bound(document, labels=labels).selected is selects


def test_the_rules_are_those_of_the_named_policy_else_of_the_only_one_that_selects_and_limits_are_those_of_all() -> (
    None
):
    everywhere = limits("rails", connectorSelector={})
    lax = policy("lax", **RULES)
    shop = policy("shop", **RULES, limits={"topics": ["shop-.*"]}, connectorSelector={"matchLabels": {"team": "shop"}})
    documents = (everywhere, lax, shop)
    assert what(bound(*documents)) == (None, ["rails"])
    assert what(bound(*documents, named="lax")) == ("lax", ["rails"])
    assert what(bound(*documents, labels={"team": "shop"})) == ("shop", ["rails", "shop"])
    assert what(bound(*documents, named="lax", labels={"team": "shop"})) == ("lax", ["rails", "shop"])
    assert what(bound(*documents, named="rails", labels={"team": "shop"})) == ("shop", ["rails", "shop"])
    assert what(bound(*reversed(documents), named="lax", labels={"team": "shop"})) == ("lax", ["rails", "shop"])
    assert what(bound(lax)) == (None, [])
    assert what(bound()) == (None, [])


def test_two_policies_with_rules_that_select_it_are_rivals_until_it_names_one() -> None:
    one, two = policy("one", **RULES, connectorSelector={}), policy("two", **RULES, connectorSelector={})
    found = bound(two, one)
    assert found.rivals == ("one", "two")
    assert rivalry(found.rivals).startswith(
        "the TopicCreationPolicies one and two select this connector, and each has "
    )
    assert what(found) == (None, [])
    assert (bound(one, two, named="two").rivals, what(bound(one, two, named="two"))) == ((), ("two", []))


def test_its_own_rules_apply_where_no_policy_has_any_or_the_one_that_has_allows_overrides_within_the_limits() -> None:
    strict, lax = policy("strict", **RULES), policy("lax", **RULES, overridePolicy="Allow", limits={"maxPartitions": 2})
    refused = bound(strict, named="strict", config=INLINE).refused
    assert [str(p) for p in refused] == [
        "the TopicCreationPolicy strict has rules for this connector, but spec.config has "
        "topic.creation.default.partitions, topic.creation.default.replication.factor: only one of them can "
        "apply; remove these properties, or set spec.overridePolicy: Allow in the policy"
    ]
    found = bound(strict, lax, named="lax", config=INLINE)
    assert (what(found), found.refused) == ((None, ["lax"]), ())
    assert what(bound(strict, lax, named="lax")) == ("lax", ["lax"])
    found = bound(limits("rails", connectorSelector={}), config=INLINE)
    assert (what(found), found.refused) == ((None, ["rails"]), ())
    free = policy("free", **RULES, overridePolicy="Allow")
    assert bound(free, named="free", config=INLINE).policy is None
    rivals = [policy(name, **RULES, overridePolicy="Allow", connectorSelector={}) for name in ("one", "two")]
    found = bound(*rivals, config=INLINE)
    assert (found.rivals, found.refused, found.policy) == ((), (), None)


@pytest.mark.parametrize(
    ("inline", "within", "told"),
    [
        (
            {"default.partitions": "5"},
            {"maxPartitions": 3},
            ["limits.maxPartitions of the TopicCreationPolicy rails is 3"],
        ),
        (
            {"default.partitions": "-1"},
            {"maxPartitions": 3},
            ["limits.maxPartitions of the TopicCreationPolicy rails is 3"],
        ),
        ({"default.replication.factor": "1"}, {"minReplicationFactor": 2}, ["limits.minReplicationFactor of the"]),
        (
            {"default.cleanup.policy": "compact"},
            {"config": []},
            ["limits.config of the TopicCreationPolicy rails does not"],
        ),
        (
            {"default.partitions": "5", "groups": "a", "a.include": "x", "a.partitions": "4"},
            {"maxPartitions": 3},
            ["limits.maxPartitions", "limits.maxPartitions"],
        ),
        ({"default.partitions": "${secret:a:b}"}, {"maxPartitions": 3}, []),
        ({"default.replication.factor": "${env:COPIES}"}, {"minReplicationFactor": 2}, []),
        ({"default.partitions": "${env:P}", "default.x": "1"}, {"maxPartitions": 3, "config": []}, ["limits.config"]),
        ({"default.partitions": "many"}, {"maxPartitions": 3}, []),  # told by the check of the rules themselves
        ({"default.partitions": "3"}, {"maxPartitions": 3, "topics": ["no-.*"], "minReplicationFactor": 3}, []),
    ],
)
def test_literal_values_in_its_rules_that_no_limit_allows_are_reported_before_anything_runs(
    inline: dict[str, str], within: dict[str, Any], told: list[str]
) -> None:
    config = {**INLINE, **{f"topic.creation.{name}": text for name, text in inline.items()}}
    found = bound(policy("rails", limits=within, connectorSelector={}), config=config).refused
    assert [p.property.startswith("topic.creation.") for p in found] == [True] * len(told)
    assert [p.message[: len(words)] for p, words in zip(found, told, strict=True)] == told


def test_one_that_cannot_be_applied_is_reported_where_it_is_named_or_selects_and_nowhere_else() -> None:
    bad = limits("bad", connectorSelector={"matchLabels": {"team": "shop"}}, groups=[{"name": "a", "include": ["a("]}])
    assert bound(bad, labels={"team": "stock"}) == PolicyBinding()
    assert list(bound(bad, labels={"team": "shop"}).invalid) == ["bad"]
    assert "spec.groups.0.include.0" in bound(bad, named="bad").invalid["bad"]
    assert bound(limits("rails"), named="absent").missing == "absent"


@pytest.mark.parametrize(
    "odd", [{}, {"metadata": {}}, {"metadata": {"name": "x"}}, {"metadata": {"name": "x"}, "spec": []}]
)
def test_a_policy_of_an_odd_shape_binds_nobody(odd: dict[str, Any]) -> None:
    assert bound(odd) == PolicyBinding()
