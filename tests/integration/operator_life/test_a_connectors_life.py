"""A Connector's life, from its creation to its end, as its user sees it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_model.contracts.job import Action

from .world.answers import real
from .world.site import Site


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
