"""More than one operator: of one release, so that one takes over; of two releases on purpose."""

import time
from collections.abc import Callable
from itertools import count

import pytest

from .world.processes import OperatorProcess
from .world.proxy import Proxy
from .world.site import Site, condition

pytestmark = pytest.mark.slow

_NUMBERS = count()


def leads(operator: OperatorProcess) -> bool:
    """Whether it says so itself."""
    return "penstock_operator_leading 1.0" in operator.metrics()


def one_of(operators: list[OperatorProcess], seconds: float) -> OperatorProcess:
    """The one that leads, as soon as one does."""
    operators[0].until(lambda: any(leads(o) for o in operators), "one leads", seconds)
    leading = [o for o in operators if leads(o)]
    assert len(leading) == 1
    return leading[0]


def leader_and_two(site: Site, proxy: Proxy | None = None) -> list[OperatorProcess]:
    """The first leads, the others stand by."""
    first = site.operator(None if proxy is None else proxy.kubeconfig, pod="operator-0").start().ready()
    others = [site.operator(pod=f"operator-{n}").start() for n in (1, 2)]
    for other in others:
        other.ready()  # stands by: the leader has answered
        assert not leads(other)
    return [first, *others]


def carries_on(site: Site, before: list[str]) -> None:
    """What is changed now is acted on, and nothing was lost or doubled."""
    site.change("orders", state="Paused")
    site.settled("orders", "Paused", seconds=90)
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == before
    site.create(f"later-{next(_NUMBERS)}")


def test_of_two_on_standby_one_takes_over_from_a_leader_that_is_frozen(site: Site, proxy: Proxy) -> None:
    operators = leader_and_two(site, proxy)
    site.create("orders", tasksMax=2)
    site.settled("orders")
    before = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    frozen, *others = operators
    for number in range(20):  # it stands still in the midst of work
        site.create(f"burst-{number}")
    frozen.until(lambda: any("burst" in r.path for r in proxy.changes()), "it is at work")
    frozen.freeze()
    leader = one_of(others, 60)
    carries_on(site, before)
    for number in range(20):
        site.settled(f"burst-{number}", seconds=120)
    changes = len(proxy.changes())
    frozen.thaw()
    assert frozen.ended(60) == 1
    assert proxy.changes()[changes:] == []
    assert frozen.logged("cannot remain leader: the Lease")
    assert leads(leader)
    frozen.start()
    frozen.ready()  # stands by again
    assert one_of(operators, 10) is leader
    check_kubelet(site)


def test_of_two_on_standby_one_takes_over_again_and_again(site: Site) -> None:
    operators = leader_and_two(site)
    site.create("orders")
    site.settled("orders")
    before = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    for _ in range(3):
        leader = one_of(operators, 60)
        leader.kill()
        leader.ended()
        others = [o for o in operators if o is not leader]
        begun = time.monotonic()
        one_of(others, 60)
        print(f"taken over after {time.monotonic() - begun:.1f} s")
        site.change("orders", state="Paused")
        site.settled("orders", "Paused", seconds=90)
        site.change("orders", state="Running")
        site.settled("orders", seconds=90)
        assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == before
        leader.start().ready()
    site.check()


def check_kubelet(site: Site) -> None:
    """As `site.check`, where an operator has failed as it should."""
    assert not site.kubelet.wrong, site.kubelet.wrong
    assert site.kubelet.doubled() == {}


def test_two_releases_each_run_their_own(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    one, two = site.namespaces
    site.operator(watch=[one], namespace=one, name="one").start()
    site.operator(watch=[two], namespace=two, name="two").start()
    for namespace in (one, two):
        site.create("orders", namespace=namespace)
    for namespace, name in ((one, "one"), (two, "two")):
        site.settled(f"{namespace}/orders")
        pods = site.kubelet.alive(f"{namespace}/orders")
        assert [p["metadata"]["labels"]["penstock.dev/operator"] for p in pods] == [f"{namespace}.{name}"]
    site.check()


def test_of_two_releases_the_older_connector_keeps_a_name(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    one, two = site.namespaces
    site.operator(watch=[one], namespace=one, name="one").start()
    site.operator(watch=[two], namespace=two, name="two").start()
    site.create("orders", namespace=one, connectName="moved")
    site.settled(f"{one}/orders")
    site.kubelet.records.until(lambda: site.kubelet.records.claim("moved"), "a claim")
    site.create("orders", namespace=two, connectName="moved")
    refused = site.until(f"{two}/orders", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused")
    assert f"{one}/orders" in condition(refused, "Stalled")
    assert site.kubelet.alive(f"{two}/orders") == []

    site.delete("orders", namespace=one)
    site.settled(f"{two}/orders", seconds=90)  # the name is free
    site.check()


def test_a_connector_without_its_name_leaves_nothing_of_the_owner_forgotten(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    one, two = site.namespaces
    site.operator(watch=[one], namespace=one, name="one").start()
    site.operator(watch=[two], namespace=two, name="two").start()
    site.create("orders", namespace=one, connectName="moved")
    site.settled(f"{one}/orders")
    site.kubelet.records.until(lambda: site.kubelet.records.claim("moved"), "a claim")
    site.create("orders", namespace=two, connectName="moved")
    site.until(f"{two}/orders", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused")
    before = dict(site.kubelet.records.latest)
    site.delete("orders", namespace=two)
    site.gone(f"{two}/orders")
    site.create("last", namespace=two)  # so that the deletion has been followed
    site.settled(f"{two}/last")
    for key in site.kubelet.records.of("moved") or [b"nothing is left"]:
        assert site.kubelet.records.latest.get(key) == before.get(key)
    assert site.kubelet.records.of("moved")
    assert site.kubelet.records.tombstones == []
    site.check()


def test_a_restart_gives_no_name_to_a_younger_connector(site: Site) -> None:
    operator = site.operator().start()
    site.create("z-older", connectName="moved")
    site.settled("z-older")
    younger = [f"a-younger-{n}" for n in range(12)]
    for name in younger:
        site.create(name, connectName="moved")
    for name in younger:
        site.until(name, lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused")
    jobs = list(site.kubelet.jobs)
    versions = {k: b["metadata"]["resourceVersion"] for k, b in site.connectors.objects.items()}
    for _ in range(3):
        operator.kill()
        operator.ended()
        operator.start().ready()
        site.change("z-older", state="Paused")
        site.settled("z-older", "Paused")
        site.change("z-older", state="Running")
        site.settled("z-older")
    assert site.kubelet.jobs == jobs
    assert {n: site.get(n)["metadata"]["resourceVersion"] for n in younger} == {
        n: versions[site.key(n)] for n in younger
    }
    site.check()
