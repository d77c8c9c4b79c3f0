"""The page of a Connector has the Events about it and about its pods, and no others."""

from typing import Any

import pytest

from penstock_operator import names
from penstock_operator.web.events import events_about, is_pod_of
from penstock_web.source import Event


def event(kind: str = "Pod", name: str = "orders-0-1", **more: Any) -> dict[str, Any]:
    given = {"regarding": {"kind": kind, "name": name, "uid": "u1"}, "type": "Warning", "reason": "R", "note": "n"}
    return {**given, "eventTime": "2026-01-01T00:00:00.500000Z", **more}


@pytest.mark.parametrize(
    "pod",
    [
        names.pod_name("orders", 0, 12),
        names.executor_name(names.pod_name("orders", 3, 1), 2),
        *(names.job_name("orders", action, names.digest("k")) for action in ("plan", "prepare", "reset", "offsets")),
    ],
)
def test_pods_of_a_connector_are_known_by_their_names(pod: str) -> None:
    assert is_pod_of("orders", pod)
    assert not is_pod_of("order", pod)


@pytest.mark.parametrize("pod", ["orders", "orders-in-0-1", "orders-0-1-2", "orders-in-plan-0123456789", "orders-0-x"])
def test_pods_of_connectors_with_similar_names_are_others(pod: str) -> None:
    assert not is_pod_of("orders", pod)


def test_events_of_this_connector_and_its_pods_are_taken() -> None:
    documents = [
        event("Connector", "orders", regarding={"kind": "Connector", "name": "orders", "uid": "u1"}),
        event("Connector", "orders", regarding={"kind": "Connector", "name": "orders", "uid": "earlier"}),
        event(),
        event(name="others-0-1"),
        event("ConfigMap", "orders-0-1"),
        {},
    ]
    assert [e.about for e in events_about("orders", "u1", documents)] == ["orders", "orders-0-1"]


def test_the_latest_is_first_and_a_kubelets_times_and_counts_are_read() -> None:
    old = event(eventTime=None, deprecatedLastTimestamp="2026-01-01T00:01:00Z", deprecatedCount=4)
    series = event(series={"lastObservedTime": "2026-01-01T00:02:00.000000Z", "count": 9})
    neither = event(eventTime=None, metadata={"creationTimestamp": "2025-01-01T00:00:00Z"})
    found = events_about("orders", "u1", [neither, event(), old, series])
    assert [e.count for e in found] == [9, 4, 1, 1]
    assert found[2] == Event(1767225600.5, "Warning", "R", "n", "orders-0-1", 1)


def test_a_hundred_are_enough() -> None:
    assert len(events_about("orders", "u1", [event()] * 1_000)) == 100
