"""The platform engineer sets the rules and rails for topics, the data engineer meets them (KIP-158). With kubectl alone."""

from typing import Any

import pytest

from .api import Object
from .place import Connector, Place, task

RULES: dict[str, Any] = {"partitions": 2, "config": {"retention.ms": 86400000}}


def apply_policy(place: Place, *topics: str) -> None:
    place.apply(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "TopicCreationPolicy",
            "metadata": {"name": "shop-topics"},
            "spec": {"default": RULES, "limits": {"topics": [*topics]}},
        }
    )


def is_missing_its_policy(found: Object) -> bool:
    conditions = {c["type"]: c for c in (found.get("status") or {}).get("conditions", ())}
    is_waiting = conditions.get("Reconciling", {}).get("reason") == "PolicyMissing"
    return is_waiting and bool(conditions["Stalled"]["status"] == "False")


def test_connectors_wait_for_their_policy_create_by_its_rules_and_fail_at_its_limits_until_it_is_widened(
    place: Place,
) -> None:
    named: dict[str, Any] = {"topicCreationPolicyRef": {"name": "shop-topics"}}
    good: Connector = place.datagen("orders", **named)
    bad: Connector = place.datagen("astray", **named)
    good.until(is_missing_its_policy, "it waits for its policy, and is not stalled")
    apply_policy(place, good.topic.replace(".", r"\."))
    good.kubectl(
        "wait", "--for=condition=Ready", "topiccreationpolicy/shop-topics", "connector/orders", "--timeout=90s"
    )
    place.kafka.records(good.topic, least=10)
    as_created = (2, {"retention.ms": "86400000"})
    assert place.kafka.describe(good.topic) == as_created

    said = bad.says("TasksFailed", "limits.topics of the TopicCreationPolicy shop-topics", f"'{bad.topic}'")
    assert said.count(bad.topic) == 1
    described = bad.kubectl("describe", "connector", bad.name)
    assert f"cannot create topic '{bad.topic}': limits.topics of the TopicCreationPolicy shop-topics" in described
    assert task(bad.get(), 0)["restarts"] == 0

    apply_policy(place, r".*\.(orders|astray)")
    bad.reaches("Running")
    place.kafka.records(bad.topic, least=10)
    assert place.kafka.describe(bad.topic) == as_created
    good.reaches("Running")
    before = place.kafka.values(good.topic)
    after = place.kafka.values(good.topic, least=len(before) + 50)
    assert sorted(after) == list(range(len(after)))  # its restart for the edit lost nothing and doubled nothing
    assert place.kafka.describe(good.topic) == as_created


@pytest.mark.slow
def test_rails_of_a_namespace_bind_running_connectors_by_their_labels_and_refuse_what_is_beyond_them(
    place: Place,
) -> None:
    orders, items = place.datagen("orders"), place.datagen("items")
    orders.reaches("Running")
    items.reaches("Running")

    def rails(selector: Any, **limits: Any) -> None:
        spec = {"connectorSelector": selector, "limits": {"maxPartitions": 3, **limits}}
        kind = {"apiVersion": "penstock.dev/v1alpha1", "kind": "TopicCreationPolicy", "metadata": {"name": "rails"}}
        place.apply({**kind, "spec": spec})

    def bound(*names: str) -> None:
        def there(found: Object | None) -> Object | None:
            status = {} if found is None else found.get("status") or {}
            return found if status.get("connectors") == [*names] else None

        place.cluster.api.until("topiccreationpolicies", place.namespace, "rails", there, f"it binds {names}", 30)

    rails({})
    bound("items", "orders")
    rails({"matchLabels": {"team": "x"}})
    bound()
    orders.kubectl("label", "connector", "orders", "team=x")
    bound("orders")
    orders.reaches("Running")
    place.kafka.records(orders.topic, least=10)  # its topic was there, whatever created it

    rules = {"topic.creation.default.partitions": 5, "topic.creation.default.replication.factor": 1}
    orders.apply(config={**orders.spec["config"], "topic": f"{orders.topic}.new", **rules})
    told = "limits.maxPartitions of the TopicCreationPolicy rails is 3, but topic.creation.default requests 5"
    orders.says("ConfigInvalid", told, "the tasks keep the last good configuration")
    orders.configure(topic_creation_default_partitions=3)
    orders.reaches("Running")
    place.kafka.records(f"{orders.topic}.new", least=10)
    assert place.kafka.describe(f"{orders.topic}.new")[0] == 3


@pytest.mark.slow
def test_active_topics_are_reset_by_annotation_and_those_in_use_come_back_with_a_new_since(place: Place) -> None:
    orders = place.datagen("orders")
    found = orders.until(lambda c: c if c["status"].get("activeTopics") else None, "its topic is told")
    (before,) = found["status"]["activeTopics"]
    orders.reaches("Running")
    orders.kubectl("delete", "pod", orders.pod())
    orders.reaches("Running")
    place.kafka.records(orders.topic, least=10)
    assert orders.status["activeTopics"] == [before]  # another life of its task changes nothing

    orders.annotate(reset_topics="r1")

    def is_back(found: Object) -> Object | None:
        topics = found["status"].get("activeTopics") or [before]
        return found if topics[0]["since"] != before["since"] else None

    found = orders.until(is_back, "the topic in use is back with a new since")
    (action,) = found["status"]["offsetsActions"]
    assert (action["action"], action["token"], action["result"]) == ("reset-topics", "r1", "Succeeded")
    assert [t["name"] for t in found["status"]["activeTopics"]] == [orders.topic]
