"""Which of two offsets topics holds where both have a position of a connector that is found by name."""

import pytest

from penstock_model.contracts.job import Action, JobRequest
from penstock_runtime.job.offsets_target import target_by_name
from penstock_runtime.job.preparing import ClientErrors

ELSEWHERE = {"producer.override.bootstrap.servers": "elsewhere:9092"}


@pytest.mark.parametrize(
    ("config", "worker", "topics", "counts"),
    [
        ({}, {}, ["connect-offsets"], True),
        ({"offsets.storage.topic": "own"}, {}, ["connect-offsets", "own"], True),
        ({"offsets.storage.topic": "own", "delivery.guarantee": "at-least-once"}, {}, ["connect-offsets", "own"], True),
        (ELSEWHERE, {}, ["connect-offsets"] * 2, True),
        ({**ELSEWHERE, "delivery.guarantee": "at-least-once"}, {}, ["connect-offsets"] * 2, False),
        (ELSEWHERE, {"exactly.once.source.support": "disabled"}, ["connect-offsets"] * 2, False),
    ],
)
def test_on_another_cluster_the_workers_topic_holds_only_where_delivery_is_exactly_once(
    config: dict[str, str], worker: dict[str, str], topics: list[str], counts: bool
) -> None:
    request = JobRequest(
        action=Action.LIST_OFFSETS,
        id="",
        worker={"bootstrap.servers": "kafka:9092", **worker},
        connector={"metadata": {"name": "orders", "namespace": "shop"}, "spec": {"class": "X", "config": config}},
    )
    target = target_by_name(request, ClientErrors())
    assert [topic for _, topic in target.topics] == topics
    assert len(target.topics) == 1 or target.own_counts is counts


@pytest.mark.parametrize("policy", ["None", "Allowlist"])
def test_a_reset_by_name_does_not_follow_overrides_that_the_policy_forbids(policy: str) -> None:
    config = {
        "consumer.override.group.id": "connect-other",
        "admin.override.bootstrap.servers": "evil:9092",
        **ELSEWHERE,
    }
    worker = {"bootstrap.servers": "kafka:9092", "connector.client.config.override.policy": policy}
    request = JobRequest(
        action=Action.RESET_OFFSETS,
        id="",
        worker=worker,
        connector={"metadata": {"name": "orders", "namespace": "shop"}, "spec": {"class": "X", "config": config}},
    )
    target = target_by_name(request, ClientErrors())
    assert target.group == "connect-shop.orders"
    settings = target.place.settings
    assert {settings.bootstrap, settings.admin["bootstrap.servers"], settings.consumer["bootstrap.servers"]} == {
        "kafka:9092"
    }
