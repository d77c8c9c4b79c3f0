"""Lists of offsets by annotation (KIP-875): operator, API server, broker, the work of job pods and tasks are real."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from penstock_model.contracts.job import LIST_BYTES, Action, JobAnswer, JobRequest, Outcome

from ..lab import Lab
from .test_resets_of_offsets import BATCHES, done, held, life, run
from .world.answers import template
from .world.site import Site
from .world.watched import Json

__all__ = ["held", "life"]

NAME = "orders-offsets"


def list_map(site: Site) -> Json | None:
    maps = site.api.call("GET", f"/api/v1/namespaces/{site.namespace}/configmaps")["items"]
    return next((m for m in maps if m["metadata"]["name"] == NAME), None)


def listed(site: Site) -> Any:
    found = list_map(site)
    assert found is not None
    return json.loads(found["data"]["offsets.json"])["offsets"]


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_connector_that_runs_is_listed_and_its_pods_stay(life: Site, lab: Lab, kind: str) -> None:
    topic = lab.topic()
    run(life, lab, topic, kind)
    expected = [{"partition": {"p": "a0"}, "offset": {"i": len(BATCHES) - 1}}]
    if kind == "sink":
        expected = [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 3}}]
    pods = [t["pod"] for t in life.settled("orders")["status"]["tasks"]]
    life.annotate("orders", list_offsets="l1")
    entry = done(life, "l1")
    assert (entry["action"], entry["result"]) == ("list", "Succeeded"), entry
    assert entry["message"] == f"1 position: ConfigMap {NAME}, key offsets.json"
    assert listed(life) == expected
    body = life.settled("orders")
    assert [(t["pod"], t["state"]) for t in body["status"]["tasks"]] == [(pods[0], "Running")]
    life.annotate("orders", list_offsets="l2")
    assert done(life, "l2")["result"] == "Succeeded"
    life.annotate("orders", list_offsets="l1")  # as an older commit does
    life.settled("orders")
    assert [a for _, a in life.kubelet.jobs].count(Action.LIST_OFFSETS) == 2
    assert life.requests() == []
    life.check()


def test_list_of_900_kib_is_stored_whole_and_owned_by_its_connector(make_site: Callable[..., Site]) -> None:
    entries = [{"partition": {"file": f'"ä"{n:01000}'}, "offset": {"i": n}} for n in range(LIST_BYTES // 1100)]
    text = json.dumps({"offsets": entries}, ensure_ascii=False)
    assert 0.9 * LIST_BYTES < len(text.encode()) <= LIST_BYTES

    def answers(request: JobRequest) -> JobAnswer:
        if request.action is not Action.LIST_OFFSETS:
            return template(request)
        return JobAnswer(id=request.id, action=request.action, outcome=Outcome.DONE, offsets=text)

    site = make_site(answers=answers)
    site.operator().start()
    site.create("orders", state="Stopped")
    site.settled("orders", "Stopped")
    site.annotate("orders", list_offsets="l1")
    entry = done(site, "l1")
    assert entry["message"] == f"{len(entries)} positions: ConfigMap {NAME}, key offsets.json"
    assert listed(site) == entries
    found = list_map(site)
    assert found is not None
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Connector", site.get("orders")["metadata"]["uid"])
    site.check()
