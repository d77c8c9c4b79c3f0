"""A Connector's life, from its creation to its end, as its user sees it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action

from .world.answers import WRONG, real
from .world.site import Site, condition


@pytest.mark.slow
def test_it_runs_and_follows_every_change_of_what_is_asked(site: Site) -> None:
    site.operator().start()
    site.create("orders", tasksMax=2)
    running = site.settled("orders")
    assert [t["incarnation"] for t in running["status"]["tasks"]] == [1, 1]
    assert running["status"]["taskSummary"] == "2/2"
    first = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]

    site.change("orders", config={"file": "/data/b"})
    changed = site.settled("orders")
    assert [t["incarnation"] for t in changed["status"]["tasks"]] == [2, 2]
    assert not {p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))} & set(first)

    pods = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    site.change("orders", state="Paused")
    site.settled("orders", "Paused")
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == pods
    site.change("orders", state="Running")
    site.settled("orders")
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == pods

    site.change("orders", state="Stopped")
    stopped = site.settled("orders", "Stopped")
    assert stopped["status"]["replicas"] == 0
    assert site.kubelet.alive(site.key("orders")) == []

    site.change("orders", state="Running", tasksMax=3)
    site.settled("orders")
    assert len(site.kubelet.alive(site.key("orders"))) == 3

    site.delete("orders")
    site.gone("orders")
    site.kubelet.records.until(lambda: not site.kubelet.records.of(f"{site.namespace}.orders"), "its records are gone")
    site.check()


def test_the_process_starts_and_ends_as_in_a_container(site: Site) -> None:
    operator = site.operator(forked=False).start().ready()
    site.create("orders")
    site.settled("orders")
    assert operator.probe("healthz")[0] == 200
    assert "penstock_operator" in operator.metrics()
    assert operator.stop() == 0
    assert len(site.kubelet.alive(site.key("orders"))) == 1  # tasks do not need the operator
    site.check()


def test_the_real_short_pods_plan_prepare_and_reset(make_site: Callable[..., Site], tmp_path: Path) -> None:
    (tmp_path / "orders.txt").write_text("a\n")
    site = make_site(answers=real)
    site.operator().start()
    config = {"file": str(tmp_path / "orders.txt"), "topic": "orders"}
    site.create("orders", config=config, deletion={"offsets": "Reset"})
    running = site.settled("orders", seconds=120)
    assert running["status"]["connector"]["class"] == "FileStreamSource"
    site.delete("orders")
    site.gone("orders", seconds=120)
    assert Action.RESET_OFFSETS in [action for _, action in site.kubelet.jobs]
    site.check()


def test_a_wrong_configuration_is_told_and_the_last_good_one_goes_on(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    pods = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    site.change("orders", config={WRONG: "is not known"})
    told = site.until("orders", lambda b: condition(b, "Stalled").startswith("True ConfigInvalid"), "refused")
    assert "wrong: is not known" in condition(told, "ConfigValid")
    assert told["status"]["state"] == "Running"
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == pods
    site.change("orders", config={WRONG: None})
    site.settled("orders")
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == pods
    site.check()


def test_a_failed_task_is_told_with_its_trace_and_restarted(site: Site) -> None:
    site.operator().start()
    site.create("orders", restart={"backoff": {"initial": "1s"}})
    site.settled("orders")
    pod = site.kubelet.alive(site.key("orders"))[0]["metadata"]["name"]
    site.kubelet.fail(f"{site.namespace}/{pod}", 1, "the disk is full", "Traceback: OSError")
    told = site.until("orders", lambda b: b["status"]["tasks"][0].get("over"), "failed")
    assert told["status"]["state"] == "Failed"
    assert "the disk is full" in condition(told, "Ready")
    assert "OSError" in told["status"]["tasks"][0]["trace"]
    again = site.settled("orders")
    assert again["status"]["tasks"][0]["restarts"] == 1
    site.check()


def test_a_pod_that_vanishes_is_replaced_at_once(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    pod = site.kubelet.alive(site.key("orders"))[0]["metadata"]["name"]
    site.kubelet.vanish(f"{site.namespace}/{pod}")
    site.until("orders", lambda b: b["status"]["tasks"][0]["incarnation"] == 2, "another life")
    assert site.settled("orders")["status"]["tasks"][0]["losses"] == 1
    site.check()


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (ExitCode.STALLED, "The task's loop has stood still"),
        (137, "its process stood still, and was killed"),
    ],
)
def test_a_task_that_fails_its_health_check_is_replaced_with_the_cause(site: Site, code: int, cause: str) -> None:
    site.operator().start()
    site.create("orders", restart={"onFailure": False})
    for life in (2, 3):
        site.settled("orders")
        (pod,) = site.kubelet.alive(site.key("orders"))
        assert pod["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"] == "/readyz"
        site.kubelet.hold(lambda p: True)
        site.kubelet.fail_health(site.key(pod["metadata"]["name"]), code, "The task's loop has stood still")

        def is_replaced(body: dict[str, Any], life: int = life) -> bool:
            return bool(body["status"]["tasks"][0]["incarnation"] == life)

        told = site.until("orders", is_replaced, f"life {life}")
        assert told["status"]["tasks"][0]["state"] == "Pending"
        assert cause in condition(told, "Ready")
        site.kubelet.let_go()
    assert site.settled("orders")["status"]["tasks"][0]["restarts"] == 2
    site.check()


def test_a_task_that_is_lost_again_is_pending_with_the_cause_and_never_failed(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    for losses in (1, 2, 3):
        site.settled("orders")
        pod = site.kubelet.alive(site.key("orders"))[0]["metadata"]["name"]
        site.kubelet.vanish(f"{site.namespace}/{pod}")

        def is_lost(body: dict[str, Any], losses: int = losses) -> bool:
            return bool(body["status"]["tasks"][0].get("losses") == losses)

        told = site.until("orders", is_lost, "the loss")
        if told["status"]["tasks"][0]["state"] != "Running":  # a slow machine may show the next life only
            assert (told["status"]["state"], told["status"]["tasks"][0]["state"]) == ("Pending", "Pending")
            assert f"pod {pod} was deleted; lost ({losses} in a row)" in condition(told, "Ready")
    site.settled("orders")
    site.check()


def test_annotations_restart_once_per_token_and_stay(site: Site) -> None:
    site.operator().start()
    site.create("orders", tasksMax=2)
    site.settled("orders")

    def lives() -> list[int]:
        return [t["incarnation"] for t in site.get("orders")["status"]["tasks"]]

    site.annotate("orders", restart_tasks="a 1")
    site.until("orders", lambda b: b["status"]["tasks"][1]["incarnation"] == 2, "task 1 anew")
    site.settled("orders")
    assert lives() == [1, 2]
    site.annotate("orders", restart="b")
    site.until("orders", lambda b: [t["incarnation"] for t in b["status"]["tasks"]] == [2, 3], "both anew")
    body = site.settled("orders")
    assert [(a["action"], a["token"], a["result"]) for a in body["status"]["restartActions"]] == [
        ("restart-tasks", "a", "Succeeded"),
        ("restart", "b", "Succeeded"),
    ]
    site.annotate("orders", restart_failed="c")
    body = site.until("orders", lambda b: len(b["status"]["restartActions"]) == 3, "the third is handled")
    assert lives() == [2, 3]
    assert body["metadata"]["annotations"] == {
        "penstock.dev/restart-tasks": "a 1",
        "penstock.dev/restart": "b",
        "penstock.dev/restart-failed": "c",
    }
    site.check()


def test_a_connector_with_reset_has_a_finalizer_as_long_as_it_asks_for_it(site: Site) -> None:
    site.operator().start()
    site.create("orders", deletion={"offsets": "Reset"})
    site.settled("orders")
    site.until("orders", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    site.change("orders", deletion={"offsets": "Keep"})
    site.until("orders", lambda b: not b["metadata"].get("finalizers"), "no finalizer")
    site.change("orders", deletion={"offsets": "Reset"})
    site.until("orders", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    site.delete("orders")
    site.gone("orders")
    assert [a for _, a in site.kubelet.jobs].count(Action.RESET_OFFSETS) == 1
    site.check()


def test_a_connector_made_anew_under_its_name_starts_with_nothing_of_the_old_one(site: Site) -> None:
    site.operator().start()
    old = site.create("orders")["metadata"]["uid"]
    site.settled("orders")
    site.delete("orders")
    site.connectors.until(lambda all_: site.key("orders") not in all_, "deleted")
    new = site.create("orders")["metadata"]["uid"]
    site.settled("orders")
    for pod in site.kubelet.alive(site.key("orders")):
        assert pod["metadata"]["labels"]["penstock.dev/connector-uid"] == new != old
    claim = site.kubelet.records.claim(f"{site.namespace}.orders")
    assert claim is not None
    assert claim.connector_uid == new
    site.check()
