"""The webhook counts its reviews by kind and result."""

from typing import Any

import pytest

from penstock_operator.admission import webhook as module
from penstock_operator.admission.webhook import Webhook
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION, Kind
from penstock_operator.metrics import Metrics

from .test_review import WRONG, request
from .test_wrong_manifests import NAMESPACE, settings
from .world import VERSIONS, manifest

Json = dict[str, Any]


class Nothing(Kube):
    """A namespace without PluginVersions and policies."""

    def __init__(self) -> None:
        pass

    def within_seconds(self, connect: float, read: float) -> Kube:
        return self

    def list(self, kind: Kind, namespace: str | None, **more: Any) -> list[dict[str, Any]]:
        return []


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def webhook(metrics: Metrics) -> Webhook:
    return Webhook(settings(), Nothing(), metrics.reviewed)


def counted(metrics: Metrics) -> dict[tuple[str, str], int]:
    """The reviews by kind and result, without those that never were."""
    found = {
        (s.labels["kind"], s.labels["result"]): int(s.value)
        for metric in metrics.registry.collect()
        for s in metric.samples
        if s.name == "penstock_operator_reviews_total"
    }
    assert len(found) == 12
    return {labels: count for labels, count in found.items() if count}


RIGHT = {"file": "/data/x", "topic": "orders"}


def test_reviews_are_counted_by_kind_and_result(webhook: Webhook, metrics: Metrics) -> None:
    policy = request({}, object=manifest({"kind": "TopicCreationPolicy", "spec": {"groups": 1}}, NAMESPACE))
    policy["kind"]["kind"] = "TopicCreationPolicy"
    for each in (request(RIGHT), request({**RIGHT, "leftover": "x"}), request({**RIGHT, **WRONG}), policy):
        webhook.respond("/validate", {"request": each})
    assert counted(metrics) == {
        ("Connector", "allowed"): 1,
        ("Connector", "warned"): 1,
        ("Connector", "refused"): 1,
        ("TopicCreationPolicy", "refused"): 1,
    }
    assert "penstock_operator_review_seconds_count 4.0" in metrics.page().decode()


def test_a_plugin_version_that_was_applied_just_before_its_connector_is_known() -> None:
    class Shop(Nothing):
        versions: tuple[Json, ...] = ()

        def list(self, kind: Kind, namespace: str | None, **more: Any) -> list[Json]:
            return [*self.versions] if kind is PLUGIN_VERSION else []

    shop = Shop()
    webhook = Webhook(settings(), shop, lambda kind, result, seconds: None)
    unseen = next(v for v in VERSIONS if v["metadata"]["name"] == "unseen-1")
    version = request({}, object=unseen)
    version["kind"]["kind"] = "PluginVersion"
    webhook.respond("/validate", {"request": version})
    shop.versions = (unseen,)
    answer = webhook.respond("/validate", {"request": request({}, class_name="Unseen")})
    assert answer is not None
    assert answer["response"]["warnings"] == [
        "spec.class: PluginVersion unseen-1 offers Unseen but is not verified yet, so its properties are not checked"
    ]


@pytest.mark.parametrize("other", [{"operation": "DELETE"}, {"kind": {"kind": "x" * 100}}], ids=["deletion", "kind"])
def test_what_is_not_reviewed_is_not_counted(webhook: Webhook, metrics: Metrics, other: Json) -> None:
    webhook.respond("/validate", {"request": request(WRONG, **other)})
    assert counted(metrics) == {}


def test_an_error_in_a_review_is_counted(webhook: Webhook, metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "review", broken)
    with pytest.raises(ZeroDivisionError):
        webhook.respond("/validate", {"request": request(RIGHT)})
    assert counted(metrics) == {("Connector", "failed"): 1}
