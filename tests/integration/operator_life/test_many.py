"""Many connectors at once, in a small version of what the benchmark measures (`tests/bench/operator_figures.py`)."""

from collections.abc import Callable

import pytest

from ...bench.operator_figures import change_to_action, created, idle, restart, rests, settled_all, writes
from .world.site import Site

pytestmark = pytest.mark.slow


def test_many_connectors_settle_and_a_restart_writes_nothing(make_site: Callable[..., Site]) -> None:
    site = make_site(workers=8)
    operator = site.operator().start().ready()
    resting, running = [f"s{n}" for n in range(100)], [f"r{n}" for n in range(30)]
    begun = created(site, resting, state="Stopped")
    created(site, running)
    settled_all(site, operator, resting, "Stopped", begun, 180)
    settled_all(site, operator, running, "Running", begun, 180)
    rests(operator)  # tasks tell of their last steps a moment after they run
    versions = {k: b["metadata"]["resourceVersion"] for k, b in site.connectors.objects.items()}
    pods = {p["metadata"]["uid"] for n in running for p in site.kubelet.alive(site.key(n))}
    assert len(pods) == 30

    found = restart(operator, 130, 60)
    assert found.writes == 0
    assert {k: b["metadata"]["resourceVersion"] for k, b in site.connectors.objects.items()} == versions
    assert {p["metadata"]["uid"] for n in running for p in site.kubelet.alive(site.key(n))} == pods
    site.check()


def test_no_more_short_pods_live_concurrently_than_are_allowed(make_site: Callable[..., Site]) -> None:
    site = make_site(workers=8)
    most = [0]

    def count(_: object) -> bool:
        pods = site.kubelet.pods.objects.values()
        jobs = [p for p in pods if p["metadata"]["labels"]["penstock.dev/role"] == "job"]
        living = sum(p.get("status", {}).get("phase") not in ("Succeeded", "Failed") for p in jobs)
        most[0] = max(most[0], living)
        return False

    operator = site.operator(limits={"jobPods": 3, "reconciles": 8}).start().ready()
    site.kubelet.hold(lambda pod: bool(count(pod)))
    names = [f"c{n}" for n in range(25)]
    settled_all(site, operator, names, "Running", created(site, names), 180)
    assert 1 <= most[0] <= 3
    site.check()


def test_idle_connectors_cost_next_to_nothing(site: Site) -> None:
    operator = site.operator().start().ready()
    names = [f"c{n}" for n in range(20)]
    settled_all(site, operator, names, "Running", created(site, names), 180)
    change_to_action(site, "c0", 1)
    found = idle(operator, 10)
    assert found.writes == 0
    assert found.memory < 150
    assert writes(operator) > 0
    site.check()
