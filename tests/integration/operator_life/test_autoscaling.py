"""Autoscaling on a real API server and a real status topic: the number of tasks follows what tasks report."""

import pytest

from ..running import PATIENCE
from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow

TERMS = {"targetLagSeconds": 60, "max": 2, "scaleUpAfterSeconds": 0, "scaleDownAfterSeconds": 60}


def has(site: Site, number: int) -> Json:
    """The Connector, as soon as it is Ready with so many tasks."""
    summary = f"{number}/{number}"
    return site.until(
        "orders",
        lambda b: b["status"].get("taskSummary") == summary and condition(b, "Ready").startswith("True"),
        f"{summary} tasks",
        2 * PATIENCE,
    )


def test_number_of_tasks_follows_their_reports_and_a_new_operator_keeps_it(site: Site) -> None:
    name = f"{site.namespace}.orders"
    operator = site.operator()
    operator.start()
    site.kubelet.works(name, lag=60_000, read_rate=100.0, busy=100, partitions=2)
    site.create("orders", **{"class": "FileStreamSink"}, autoscaling=TERMS)
    found = has(site, 2)
    assert found["status"]["autoscaling"]["tasks"] == 2
    assert found["status"]["autoscaling"]["message"].startswith("1 -> 2 tasks: task 0 is about 10 min behind")
    assert found["spec"]["tasksMax"] == 1
    site.until("orders", lambda b: "AtMaximum" in condition(b, "Autoscaling"), "it is at the maximum")

    pods = {p["metadata"]["name"] for p in site.kubelet.alive(site.key("orders"))}
    operator.kill()
    operator.ended()
    site.operator().start()
    site.change("orders", restart={"maxRestarts": 3})
    site.settled("orders")
    assert {p["metadata"]["name"] for p in site.kubelet.alive(site.key("orders"))} == pods

    site.kubelet.works(name, lag=0, read_rate=0.0, busy=0, partitions=2)
    assert has(site, 1)["status"]["autoscaling"]["message"] == "2 -> 1 tasks: 1 can keep the lag within 60 s"
    site.until("orders", lambda b: "OnTarget" in condition(b, "Autoscaling"), "it is within the target")
    site.check()
