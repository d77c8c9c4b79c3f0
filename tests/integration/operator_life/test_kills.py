"""The operator is killed between any two of its writes, and comes to the same end when it is started again.

A proxy has the n-th write carried out, kills the operator before it is answered, and n goes up until there are fewer
writes than that.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from penstock_model.contracts.job import Action

from .world.processes import OperatorProcess
from .world.proxy import Proxy
from .world.site import Site, is_settled

pytestmark = pytest.mark.slow

_MOST = 80


@contextmanager
def killed_after(count: int, operator: OperatorProcess, proxy: Proxy) -> Iterator[Callable[[], bool]]:
    yield proxy.kill_after(count, operator.kill)
    proxy.kill_nobody()


def every_write(
    site: Site,
    proxy: Proxy,
    before: Callable[[int], object],
    stage: Callable[[int], object],
    is_done: Callable[[int], bool],
    check: Callable[[int], object],
) -> int:
    """Go through a stage again and again, killed after one write more each time; how many writes it has."""
    operator = site.operator(proxy.kubeconfig).start()
    for count in range(1, _MOST):
        before(count)
        proxy.quiet(1.0)
        with killed_after(count, operator, proxy) as killed:
            stage(count)
            site.connectors.until(lambda _: operator.has_ended or is_done(count), "killed, or done", 120)  # noqa: B023 (called at once)
            if not operator.has_ended:
                proxy.quiet(2.0)
            survived = not killed()
        assert not (survived and operator.has_ended), f"it has ended by itself\n{operator.tail()}"
        if not survived:
            operator.ended()
            operator.start()
            site.connectors.until(lambda _: is_done(count), f"done, killed after {count} writes", 120)  # noqa: B023 (called at once)
        check(count)
        site.check()
        assert site.requests() == []
        if survived:
            return count - 1
    raise AssertionError(f"still a write after {_MOST}")


def test_it_is_killed_while_it_starts_a_connector(site: Site, proxy: Proxy) -> None:
    def check(n: int) -> None:
        assert [t["incarnation"] for t in site.get(f"c{n}")["status"]["tasks"]] == [1, 1]
        assert len(site.kubelet.alive(site.key(f"c{n}"))) == 2

    writes = every_write(
        site,
        proxy,
        lambda _: None,
        lambda n: site.create(f"c{n}", tasksMax=2),
        lambda n: is_settled(site.seen(f"c{n}")),
        check,
    )
    assert writes >= 8


def test_it_is_killed_while_it_rolls_a_change_out(site: Site, proxy: Proxy) -> None:
    site.create("orders", tasksMax=2)
    seen: list[list[int]] = [[1, 1]]

    def check(_: int) -> None:
        seen.append([t["incarnation"] for t in site.get("orders")["status"]["tasks"]])
        assert seen[-1] == [i + 1 for i in seen[-2]]  # each task exactly one life more
        assert len(site.kubelet.alive(site.key("orders"))) == 2

    writes = every_write(
        site,
        proxy,
        lambda _: site.settled("orders", seconds=120),
        lambda n: site.change("orders", config={"file": f"/data/{n}"}),
        lambda _: is_settled(site.seen("orders")),
        check,
    )
    assert writes >= 8


def test_it_is_killed_while_it_lets_go_of_a_connector_with_reset(site: Site, proxy: Proxy) -> None:
    def before(n: int) -> None:
        site.create(f"c{n}", tasksMax=2, deletion={"offsets": "Reset"})
        site.settled(f"c{n}", seconds=120)
        site.until(f"c{n}", lambda b: b["metadata"].get("finalizers"), "a finalizer")

    def check(n: int) -> None:
        site.gone(f"c{n}")
        resets = [key for key, action in site.kubelet.jobs if action is Action.RESET_OFFSETS and f"/c{n}-" in key]
        assert resets

    writes = every_write(
        site,
        proxy,
        before,
        lambda n: site.delete(f"c{n}"),
        lambda n: site.key(f"c{n}") not in site.connectors.objects,
        check,
    )
    assert writes >= 5
