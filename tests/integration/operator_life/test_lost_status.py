"""A status that is lost, or that a backup replaces, restarts no task and repeats no action."""

import time

import pytest

from penstock_model.contracts.job import Action
from penstock_operator.kubernetes.times import instant

from .world.processes import OperatorProcess
from .world.site import Site, is_settled
from .world.watched import Json

pytestmark = pytest.mark.slow

ALTER = 'a1 {"offsets": [{"partition": {"filename": "/data/a"}, "offset": {"position": 7}}]}'
REQUESTS = {"reset_offsets": "o1", "alter_offsets": ALTER, "reset_topics": "t1", "list_offsets": "l1"}


def actions(body: Json) -> set[tuple[str, str]]:
    """The actions on offsets and topics, with their results."""
    return {(a["action"], a["result"]) for a in (body.get("status") or {}).get("offsetsActions", ())}


def restarts(body: Json) -> dict[str, str]:
    """The result of each restart, by its action."""
    return {a["action"]: a["result"] for a in body["status"].get("restartActions", ())}


def pods(site: Site) -> dict[str, str]:
    return {p["metadata"]["name"]: p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))}


def wipe(site: Site) -> None:
    """`kubectl patch --subresource=status`."""
    site.written(site.api.merge(site.manifest("orders"), {"status": None}, "status"))


def restore(site: Site, operator: OperatorProcess, status: Json) -> None:
    """Write an old status, as a restore of a backup does, while the operator is stopped."""
    operator.stop()
    body = site.api.get(site.manifest("orders"))
    path = f"/apis/penstock.dev/v1alpha1/namespaces/{site.namespace}/connectors/orders/status"
    site.written(site.api.call("PUT", path, {**body, "status": status}))
    operator.start()


def working(site: Site) -> int:
    """How many job pods have changed offsets, or listed them."""
    return sum(action in (Action.OFFSETS, Action.LIST_OFFSETS) for _, action in site.kubelet.jobs)


def run_since(site: Site, incarnation: int) -> Json:
    """The Connector, as soon as all tasks run in a later incarnation, and the operator has nothing more to write."""
    return site.until(
        "orders",
        lambda b: (
            is_settled(b) and all(t["incarnation"] > incarnation and "startedAt" in t for t in b["status"]["tasks"])
        ),
        f"all tasks were started more than {incarnation} times",
    )


@pytest.mark.parametrize("lost", ["wiped", "older"])
def test_tasks_continue_and_no_restart_is_repeated(site: Site, lost: str) -> None:
    operator = site.operator().start()
    site.create("orders", tasksMax=3)
    site.settled("orders")
    site.annotate("orders", restart="r1")
    first = run_since(site, 1)
    site.change("orders", tasksMax=2)
    run_since(site, 2)
    site.annotate("orders", restart="r2", restart_tasks="t1 1")
    site.until("orders", lambda b: restarts(b).get("restart-tasks") == "Succeeded", "both are handled")
    known = run_since(site, 3)
    before, jobs = pods(site), len(site.kubelet.jobs)
    if lost == "wiped":
        wipe(site)
    else:
        restore(site, operator, first["status"])
    site.until("orders", lambda b: "restart-tasks" in restarts(b), "the operator has made the status again")
    body = site.settled("orders")
    operator.stop()
    operator.start().ready()
    site.annotate("orders", list_offsets="l1")  # it handles the Connector again
    body = site.until("orders", lambda b: actions(b) == {("list", "Succeeded")}, "the list is made")
    assert pods(site) == before
    assert len(site.kubelet.jobs) == jobs + 1
    assert body["status"]["operatorState"]["plan"] == known["status"]["operatorState"]["plan"]
    assert [(t["pod"], t["incarnation"]) for t in body["status"]["tasks"]] == [
        (t["pod"], t["incarnation"]) for t in known["status"]["tasks"]
    ]
    assert restarts(body) == {"restart": "Succeeded", "restart-tasks": "Refused"}
    site.check()


@pytest.mark.parametrize("lost", ["wiped", "older", "created again"])
def test_no_action_on_offsets_or_topics_is_repeated(site: Site, lost: str) -> None:
    operator = site.operator().start()
    site.create("orders")
    site.settled("orders")
    site.change("orders", state="Stopped")
    before = site.settled("orders", "Stopped")
    site.annotate("orders", **REQUESTS)
    done = site.until(
        "orders", lambda b: len(actions(b)) == 4 and {r for _, r in actions(b)} == {"Succeeded"}, "all is done"
    )
    jobs = working(site)
    used = max(instant(a["at"]) or 0.0 for a in done["status"]["offsetsActions"])
    operator.until(lambda: time.time() > used + 1, "times differ")  # they have whole seconds
    if lost == "wiped":
        wipe(site)
    elif lost == "older":
        restore(site, operator, before["status"])
    else:  # kubectl get -o yaml, delete, create
        site.delete("orders")
        site.gone("orders")
        meta = {k: done["metadata"][k] for k in ("name", "namespace", "annotations")}
        site.written(site.api.create({**done, "metadata": meta}))
    body = site.until("orders", lambda b: len(actions(b)) == 4, "the requests are handled")
    body = site.until("orders", lambda b: "Pending" not in {r for _, r in actions(b)}, "none is pending")
    results = dict(actions(body))
    assert {results[a] for a in ("reset", "alter", "reset-topics")} == {"Refused"}
    lists = 1 if lost == "created again" else 0  # its list was deleted with the Connector
    assert results["list"] == "Succeeded"
    assert working(site) == jobs + lists
    site.change("orders", state="Running")
    site.settled("orders")
    assert len(pods(site)) == 1
    assert working(site) == jobs + lists
    site.check()


def test_a_condition_of_another_controller_stays_through_changes(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    known = site.settled("orders")["status"]["conditions"]
    theirs = {**known[0], "type": "example.com/Audited"}
    site.written(site.api.merge(site.manifest("orders"), {"status": {"conditions": [theirs, *known]}}, "status"))
    site.change("orders", tasksMax=2)
    body = site.until("orders", lambda b: is_settled(b) and len(b["status"]["tasks"]) == 2, "it has two tasks")
    conditions = {c["type"]: c for c in body["status"]["conditions"]}
    assert conditions["example.com/Audited"] == theirs
    assert {k: c["status"] for k, c in conditions.items() if k in ("Stalled", "Reconciling")} == {
        "Stalled": "False",
        "Reconciling": "False",
    }
    site.check()


def test_a_connector_that_is_restored_with_its_status_starts_each_task_once(site: Site) -> None:
    operator = site.operator().start()
    site.create("orders", tasksMax=2)
    site.settled("orders")
    site.annotate("orders", restart="r1", restart_tasks="t1 1")
    saved = run_since(site, 1)
    site.delete("orders")
    site.gone("orders")
    operator.stop()
    meta = {k: saved["metadata"][k] for k in ("name", "namespace", "annotations")}
    new = site.written(site.api.create({**saved, "metadata": meta}))
    restore(site, operator, saved["status"])
    body = site.until(
        "orders",
        lambda b: is_settled(b) and new["metadata"]["uid"] in b["status"]["labelSelector"],
        "it runs",
    )
    assert sorted(t["pod"] for t in body["status"]["tasks"]) == sorted(pods(site))
    assert len(site.kubelet.lives_of(new["metadata"]["uid"])) == 2
    assert restarts(body) == {"restart": "Succeeded", "restart-tasks": "Succeeded"}
    site.check()
