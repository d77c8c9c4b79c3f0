"""TopicCreationPolicies on a real API server: connectors wait for them, follow them, and outlive them (KIP-158)."""

from typing import Any

import pytest

from penstock_model.resources.connector import API_VERSION

from ..running import until
from .test_upgrades import FAST, pending
from .world.site import Site, condition
from .world.watched import Json

RULES: Json = {"default": {"replicationFactor": 1, "partitions": 2}}
NAMED: dict[str, Any] = {"topicCreationPolicyRef": {"name": "shop-topics"}}


def policy(site: Site, spec: Json, name: str = "shop-topics") -> Json:
    meta = {"name": name, "namespace": site.namespace}
    return {"apiVersion": API_VERSION, "kind": "TopicCreationPolicy", "metadata": meta, "spec": spec}


def ready(
    site: Site,
    status: str = "True",
    *,
    generation: int = 1,
    connectors: list[str] | None = None,
    name: str = "shop-topics",
) -> str:
    """The policy's condition Ready, once it is of that generation, has that status, and names these Connectors."""

    def found() -> str | None:
        body = site.api.get(policy(site, RULES, name))
        says = condition(body, "Ready")
        seen = body["status"]
        is_new = seen["observedGeneration"] == generation
        # One that was created a moment ago has the status of the definition's default alone.
        names_them = connectors is None or (seen.get("connectors"), seen.get("connectorCount")) == (
            connectors,
            len(connectors),
        )
        return says if is_new and names_them and says.startswith(status) else None

    return until(found, what=lambda: str(site.api.get(policy(site, RULES, name))["status"]))


def partitions(site: Site, name: str) -> set[int]:
    """Of topics that the tasks of this Connector that live would create."""
    specs = [t.spec for t in list(site.kubelet.tasks.values()) if t.spec.connector == f"{site.namespace}.{name}"]
    policies = [s.topic_policy for s in specs]
    return {0 if p is None or p.rules is None else p.rules.default.partitions for p in policies}


def test_a_connector_waits_for_its_policy_follows_its_edits_and_outlives_it(site: Site) -> None:
    operator = site.operator().start().ready()
    site.create("orders", **NAMED)
    site.until("orders", lambda b: condition(b, "Ready").startswith("False PolicyMissing"), "waits")
    assert condition(site.get("orders"), "Stalled") == "False NotStalled: "
    site.api.create(policy(site, RULES))
    site.settled("orders")
    assert ready(site, connectors=["orders"]).startswith("True Accepted")
    assert partitions(site, "orders") == {2}
    jobs = list(site.kubelet.jobs)

    site.api.merge(policy(site, RULES), {"spec": {"default": {"partitions": 6}}})
    until(lambda: partitions(site, "orders") == {6}, what="the edit reaches its task")
    site.settled("orders")
    ready(site, generation=2)
    assert site.kubelet.jobs == jobs  # no plan pod

    site.api.merge(policy(site, RULES), {"spec": {"limits": {"topics": ["a("]}}})
    assert "spec.limits.topics.0" in ready(site, "False", generation=3)
    assert "the last good rules stay in use" in pending(site, "orders", "PolicyInvalid")
    operator.kill()  # the next one finds the last good rules in the plan
    operator.ended()
    operator.start().ready()
    site.kubelet.vanish(f"{site.namespace}/{site.kubelet.alive(site.key('orders'))[0]['metadata']['name']}")
    site.settled("orders")
    until(lambda: partitions(site, "orders") == {6}, what="the lost task is back by the last good rules")

    (alive,) = site.kubelet.alive(site.key("orders"))

    site.api.delete(policy(site, RULES))
    pending(site, "orders", "PolicyMissing")
    site.settled("orders")
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == [alive["metadata"]["uid"]]
    site.api.create(policy(site, RULES))
    until(lambda: partitions(site, "orders") == {2}, what="it follows the policy that is there again")
    site.settled("orders")
    site.create("others", **NAMED)
    ready(site, connectors=["orders", "others"])
    site.change("orders", topicCreationPolicyRef=None)
    ready(site, connectors=["others"])
    until(lambda: partitions(site, "orders") == {0}, what="it follows no policy")
    site.delete("others")
    ready(site, connectors=[])
    site.api.delete(policy(site, RULES))
    site.check()


def settled(site: Site, *names: str) -> None:
    for name in names:
        site.settled(name)


def policies(site: Site, name: str) -> set[frozenset[str]]:
    """The policies that the specs of the tasks of this Connector that live come from."""
    specs = [t.spec for t in list(site.kubelet.tasks.values()) if t.spec.connector == f"{site.namespace}.{name}"]
    return {frozenset() if s.topic_policy is None else s.topic_policy.policies for s in specs}


def test_a_policy_binds_all_that_its_selector_takes_and_a_label_or_an_edit_is_noticed_either_way(site: Site) -> None:
    rails: Json = {"limits": {"maxPartitions": 3}, "connectorSelector": {}}
    site.operator(rollout=FAST).start().ready()
    site.create("orders")
    site.create("items")
    settled(site, "orders", "items")
    site.api.create(policy(site, rails, "rails"))
    assert ready(site, connectors=["items", "orders"], name="rails").startswith("True Accepted")
    until(
        lambda: policies(site, "orders") == policies(site, "items") == {frozenset({"rails"})},
        what="both have the limits",
    )
    settled(site, "orders", "items")

    site.api.merge(policy(site, rails, "rails"), {"spec": {"connectorSelector": {"matchLabels": {"team": "x"}}}})
    ready(site, connectors=[], generation=2, name="rails")
    until(lambda: policies(site, "orders") == policies(site, "items") == {frozenset()}, what="neither has the limits")
    orders = site.get("orders")
    site.api.merge(orders, {"metadata": {"labels": {"team": "x"}}})
    ready(site, connectors=["orders"], generation=2, name="rails")
    until(lambda: policies(site, "orders") == {frozenset({"rails"})}, what="the labelled one has the limits")
    assert policies(site, "items") == {frozenset()}
    site.api.merge(orders, {"metadata": {"labels": {"team": None}}})
    ready(site, connectors=[], generation=2, name="rails")
    until(lambda: policies(site, "orders") == {frozenset()}, what="and has them no more")
    settled(site, "orders", "items")
    site.api.delete(policy(site, rails, "rails"))
    site.check()


@pytest.mark.slow
def test_a_second_policy_with_rules_over_a_hundred_running_connectors_stops_none_of_them(site: Site) -> None:
    every: Json = {**RULES, "connectorSelector": {}}
    names = [f"c-{n:03}" for n in range(100)]
    site.operator().start().ready()
    site.api.create(policy(site, every, "one"))
    for name in names:
        site.create(name)
    settled(site, *names)
    ready(site, connectors=names, name="one")
    before = {key: [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(key))] for key in names}
    site.api.create(policy(site, every, "two"))
    ready(site, connectors=names, name="two")
    for name in names:
        assert "one and two select this connector" in pending(site, name, "PolicyConflict")
    settled(site, *names)
    assert {key: [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(key))] for key in names} == before
    site.api.delete(policy(site, every, "two"))
    site.until(names[-1], lambda b: condition(b, "UpdatePending") == "absent", "the conflict has ended")
    settled(site, *names)
    assert {key: [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(key))] for key in names} == before
    site.api.delete(policy(site, every, "one"))
    site.check()
