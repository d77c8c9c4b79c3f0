"""Upgrades of a release under running connectors: wrong images, broken ones, rollbacks, and an operator that is killed."""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from penstock_operator import names

from .world.processes import OperatorProcess
from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow

FAST = {"maxUnavailable": "10%", "minReadySeconds": 1, "progressDeadlineSeconds": 5}
OLD, NEW, WRONG = "penstock-runtime:test", "penstock-runtime:2", "penstock-runtime:wrong"


def upgraded(site: Site, operator: OperatorProcess | None, image: str = OLD, **more: Any) -> OperatorProcess:
    """`helm upgrade`: the operator is replaced by one with other values."""
    if operator is not None:
        assert operator.stop() == 0
    return site.operator(images={"runtime": image}, **{"rollout": FAST, **more}).start()


def images(site: Site, name: str) -> list[str]:
    return [p["spec"]["containers"][0]["image"] for p in site.kubelet.alive(site.key(name))]


def uids(site: Site, connectors: Collection[str]) -> list[str]:
    return [p["metadata"]["uid"] for n in connectors for p in site.kubelet.alive(site.key(n))]


def pending(site: Site, name: str, reason: str, seconds: float = 60.0) -> str:
    """Its condition UpdatePending, once it has that reason."""
    body = site.until(
        name, lambda b: condition(b, "UpdatePending").startswith(f"True {reason}"), f"UpdatePending {reason}", seconds
    )
    return condition(body, "UpdatePending")


def up_to_date(site: Site, name: str, image: str, seconds: float = 90.0) -> None:
    """Wait until it is ready with this image, and waits for nothing."""

    def holds(body: Json) -> bool:
        is_ready = condition(body, "Ready").startswith("True Running")
        return is_ready and condition(body, "UpdatePending") == "absent" and set(images(site, name)) == {image}

    site.until(name, holds, f"runs with {image}", seconds)


def metric(operator: OperatorProcess, name: str) -> float:
    line = next(n for n in operator.metrics().splitlines() if n.startswith(name))
    return float(line.rpartition(" ")[2])


def created(site: Site, count: int) -> list[str]:
    connectors = [f"c{n}" for n in range(count)]
    for name in connectors:
        site.create(name)
    for name in connectors:
        site.settled(name)
    return connectors


class Watch:
    """How many task pods were on their way at once."""

    def __init__(self, site: Site) -> None:
        self.most = 0
        self._site = site
        site.kubelet.hold(self._seen)

    def _seen(self, _: Json) -> bool:
        pods = self._site.kubelet.pods.objects.values()
        tasks = [p for p in list(pods) if p["metadata"]["labels"][names.ROLE_LABEL] == "task"]
        self.most = max(self.most, sum(p.get("status", {}).get("phase") == "Pending" for p in tasks))
        return False


def test_a_wrong_tag_leaves_every_task_untouched_and_a_lost_one_comes_back_as_it_was(site: Site) -> None:
    site.kubelet.cannot_pull(WRONG)
    operator = upgraded(site, None)
    connectors = created(site, 3)
    site.create("two", tasksMax=2)
    site.settled("two")
    before = uids(site, [*connectors, "two"])

    operator = upgraded(site, operator, WRONG)
    for name in [*connectors, "two"]:
        told = pending(site, name, "ImagePullBackOff")
        assert WRONG in told
        assert "the last good configuration stays in use" in told
        assert condition(site.get(name), "Ready").startswith("True Running")
    assert uids(site, [*connectors, "two"]) == before
    assert metric(operator, 'penstock_operator_rollout_connectors{state="planning"}') == 4

    site.kubelet.vanish(f"{site.namespace}/two-1-1")
    site.kubelet.pods.until(lambda all_: f"{site.namespace}/two-1-2" in all_, "the lost task comes back")
    site.settled("two")
    assert images(site, "two") == [OLD, OLD]
    operator.kill()
    operator.ended()
    operator.start()
    site.kubelet.vanish(f"{site.namespace}/c0-0-1")
    site.kubelet.pods.until(lambda all_: f"{site.namespace}/c0-0-2" in all_, "the lost task comes back")
    site.until("c0", lambda _: images(site, "c0") == [OLD], "with the old image")

    operator = upgraded(site, operator, NEW)
    for name in [*connectors, "two"]:
        up_to_date(site, name, NEW)
    site.check()


def test_one_after_the_other_is_brought_up_to_date_whoever_kills_the_operator(site: Site) -> None:
    operator = upgraded(site, None)
    connectors = created(site, 5)
    watch = Watch(site)

    def at_least(count: int) -> Callable[[object], bool]:
        return lambda _: sum(images(site, n) == [NEW] for n in connectors) >= count

    operator = upgraded(site, operator, NEW)
    for done in (1, 3):
        site.connectors.until(at_least(done), f"{done} are restarted", 90)
        operator.kill()
        operator.ended()
        operator.start()
    for name in connectors:
        up_to_date(site, name, NEW)
    assert watch.most == 1
    assert all(len(site.kubelet.lives_of(site.get(n)["metadata"]["uid"])) == 2 for n in connectors)
    site.check()


def test_an_image_whose_tasks_fail_stops_after_two_and_a_rollback_takes_them_back(site: Site) -> None:
    site.kubelet.breaks(NEW)
    operator = upgraded(site, None)
    connectors = created(site, 5)
    site.create("own")
    site.settled("own")
    operator = upgraded(site, operator, NEW)
    site.connectors.until(
        lambda all_: sum(condition(b, "UpdatePending").startswith("True RolloutStopped") for b in all_.values()) == 4,
        "it stops",
        120,
    )
    still = [n for n in [*connectors, "own"] if images(site, n) == [OLD]]
    assert len(still) == 4
    assert all(condition(site.get(n), "Ready").startswith("True Running") for n in still)
    assert "were Ready before" in condition(site.get(still[0]), "UpdatePending")
    assert metric(operator, "penstock_operator_rollout_stopped ") == 1
    assert metric(operator, 'penstock_operator_rollout_connectors{state="failed"}') == 2
    operator.kill()
    operator.ended()
    operator.start().ready()
    operator.until(lambda: metric(operator, "penstock_operator_rollout_stopped ") == 1, "it is found in the statuses")
    assert sum(images(site, n) == [OLD] for n in [*connectors, "own"]) == 4

    site.change(still[0], config={"file": "/data/b"})  # its own change waits for nobody, and meets the broken image
    site.kubelet.pods.until(lambda _: NEW in images(site, still[0]) or not images(site, still[0]), "it is carried out")

    upgraded(site, operator, OLD)
    for name in [*connectors, "own"]:
        up_to_date(site, name, OLD)
    site.check()


def test_another_key_of_the_release_restarts_those_that_use_secrets_one_after_the_other(site: Site) -> None:
    operator, connectors = upgraded(site, None), created(site, 2)
    meta = {"name": "db", "namespace": site.namespace}
    site.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"pw": "hunter2"}})
    using = ["s0", "s1", "s2"]
    for name in using:
        site.create(name, config={"file": "/data/a", "topic": "orders", "password": "${secret:db:pw}"})
    for name in using:
        site.settled(name)
    others, before, watch = uids(site, connectors), uids(site, using), Watch(site)
    assert operator.stop() == 0
    (operator.folder / "key").write_bytes(b"another key, as after somebody deleted it")
    operator.start()
    site.kubelet.pods.until(lambda _: not set(before) & set(uids(site, using)), "all are restarted", 120)
    for name in using:
        up_to_date(site, name, OLD)
    assert watch.most == 1
    assert uids(site, connectors) == others
    site.check()
