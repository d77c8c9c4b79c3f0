"""Whatever happens, in whatever order, with the operator killed between any two writes: it comes to what is asked."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock_operator.connector.model.pod_status import Phase, TaskPod
from penstock_operator.names import plan_name
from penstock_operator.rollout.progress import GRANTED, Permission

from .world.cluster import KEY
from .world.plugins import good
from .world.world import Killed, World

HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("reconcile"), st.none() | st.integers(0, 5)),
        st.tuples(st.just("tick"), st.none()),
        st.tuples(st.just("change"), st.sampled_from(["a", "b", "c"])),
        st.tuples(st.just("tasksMax"), st.integers(1, 3)),
        st.tuples(st.just("state"), st.sampled_from(["Running", "Paused", "Stopped"])),
        st.tuples(st.just("restart"), st.sampled_from(["1", "2"])),
        st.tuples(st.just("fail"), st.integers(0, 2)),
        st.tuples(st.just("evict"), st.integers(0, 2)),
        st.tuples(st.just("vanish"), st.integers(0, 2)),
        st.tuples(st.just("delete"), st.integers(0, 2)),
        st.tuples(st.just("template"), st.sampled_from(["x", "y"])),
        st.tuples(st.just("image"), st.sampled_from(["1", "2", "3"])),
        st.tuples(st.just("place"), st.booleans()),
        st.tuples(st.just("forget"), st.none()),
        st.tuples(st.just("late preparation"), st.none()),
        st.tuples(st.just("restart tasks"), st.integers(0, 2)),
        st.tuples(st.just("invalid"), st.booleans()),
        st.tuples(st.just("advance"), st.sampled_from([1, 30, 4_000])),
    ),
    max_size=40,
)


SETTLED: list[tuple[str, object]] = [("reconcile", None), ("tick", None)] * 12


def happen(world: World, what: str, value: object) -> None:
    pods = [
        p for p in world.pods.values() if isinstance(p, TaskPod) and p.leaving is None and p.phase is not Phase.ENDED
    ]
    one = pods[int(str(value)) % len(pods)].name if what in ("fail", "evict", "vanish", "delete") and pods else None
    match what:
        case "reconcile":
            world.kill_after = None if value is None else world.writes + int(str(value))
            with suppress(Killed):
                world.reconcile()
            world.kill_after = None
        case "tick":
            world.tick()
        case "change":
            world.change(config={"file": f"/data/{value}"})
        case "tasksMax":
            world.change(tasksMax=value)
        case "state":
            world.change(state=value)
        case "restart":
            world.annotations = {"penstock.dev/restart": str(value)}
        case "fail" if one:
            world.end(one, 1, message="bad")
        case "evict" if one:
            world.end(one, None, "Evicted")
        case "vanish" if one:
            world.vanish(one)
        case "delete" if one:
            world.delete_pod(one)
        case "template":
            world.template = str(value)
        case "image":
            world.values = {"images": {"runtime": f"runtime:{value}"}}
        case "place":
            world.permission = GRANTED if value else Permission(False, "RolloutQueued", "waiting for its turn")
        case "forget":  # somebody restores the resource from a backup, without its status
            world.status = {"observedGeneration": -1}
        case "late preparation" if world.recorded is not None:  # by a job pod of its own, from a node that stood still
            world.prepare()
        case "restart tasks":
            world.annotations = {**world.annotations, "penstock.dev/restart-tasks": f"{world.now:.0f} {value}"}
        case "invalid":
            world.plugin = (lambda _: ["file"]) if value else good
        case "advance":
            world.advance(float(str(value)))
        case _:  # no pod to do it to
            pass


def splits(world: World, seen: dict[str, str]) -> set[str]:
    """How those tasks split the source that nothing keeps from working; `seen` are the fences of plans by name."""
    seen |= {plan_name(KEY.name, p.hash): p.fence("") for p in world.plans}
    living = [p for p in world.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED]
    maps = (
        v["configMap"]["name"]
        for p in living
        if not world.is_superseded(p)
        for v in world.manifest(p.name)["spec"]["volumes"]
        if v["name"] == "plan"
    )
    return {seen[name] for name in maps}


@settings(max_examples=300, deadline=None)
@given(HAPPENINGS)
# The only pod is lost before it ran, and another plan is made: nobody may be shut out while the old one is replaced.
@example([("reconcile", None), ("tick", None), ("tick", None), ("reconcile", None), ("evict", 0)])
# A preparation that nobody waits for any more has shut out the tasks that there were: they are prepared for anew.
@example([*SETTLED, ("tasksMax", 2), *SETTLED[:8], ("tasksMax", 1)])
# A pod is gone by force before anybody has seen it.
@pytest.mark.slow
@example([("reconcile", None), ("tick", None), ("tick", None), ("reconcile", None), ("vanish", 0)])
def test_it_comes_to_what_is_asked(happenings: list[tuple[str, object]]) -> None:
    world = World()
    seen: dict[str, str] = {}
    for what, value in happenings:
        happen(world, what, value)
        assert len(splits(world, seen)) <= 1, "two tasks may read one part of the source"
    world.change(state="Running", tasksMax=2, config={"file": "/data/end"})
    world.permission, world.plugin = GRANTED, good
    world.settle(seconds=7_200)
    alive = sorted(
        (p.task, p.pod_hash) for p in world.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED
    )
    assert [n for n, _ in alive] == [0, 1], world.status
    now = {p.image for p in world.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED}
    assert now == {world.settings.images.runtime}
    assert world.condition("Ready").startswith("True Running"), world.status
    before = world.writes
    world.reconcile()
    assert world.writes == before
    names = world.lives
    assert len(names) == len(set(names)) or "forget" in {w for w, _ in happenings}, "an incarnation had two pods"


@pytest.mark.parametrize("kill", range(12))
def test_the_operator_killed_between_any_two_writes_of_a_first_start_converges_to_the_same(kill: int) -> None:
    world = World(spec={"tasksMax": 2, "deletion": {"offsets": "Reset"}})
    world.kill_after = kill
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert world.condition("Ready").startswith("True Running")
