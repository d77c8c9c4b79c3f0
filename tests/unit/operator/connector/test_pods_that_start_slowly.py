"""A pod whose container does not start, or that is evicted: the status names the cause, also where only an Event has it."""

import asyncio
from typing import Any

import pytest

from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.errors import Unavailable
from penstock_operator.kubernetes.kinds import EVENT
from penstock_operator.kubernetes.times import timestamp

from .world.world import World

MISSING = 'MountVolume.SetUp failed for volume "rules" : configmap "rules" not found'
PLAN = "orders-in-plan-"


@pytest.fixture
def world() -> World:
    """A connector whose job pod waits for a volume."""
    world = World()
    world.reconcile()
    world.hinder(plan_pod(world), "ContainerCreating", "")
    world.edit_pod(plan_pod(world), lambda pod: pod["spec"].update(nodeName="node-1"))
    return world


def plan_pod(world: World) -> str:
    (name,) = (name for name in world.pods if name.startswith(PLAN))
    return name


def warn(
    world: World, reason: str, note: str, *, at: float | None = None, name: str = "first", pod: str | None = None
) -> None:
    when = timestamp(world.now if at is None else at)
    regarding = {"kind": "Pod", "uid": world.manifest(pod or plan_pod(world))["metadata"]["uid"]}
    kind = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "shop"}}
    own = {"type": "Warning", "regarding": regarding, "deprecatedLastTimestamp": when, "reason": reason, "note": note}
    world.server.add({**kind, **own})


def test_a_pod_that_waits_is_looked_at_again_after_ten_seconds_and_then_twice_a_minute(world: World) -> None:
    assert world.reconcile().requeue_after == 10
    world.advance(10)
    assert world.reconcile().requeue_after == 30
    assert world.condition("Ready").startswith("False PodNotStarting: ContainerCreating for more than 10 s; kubectl")


def test_the_last_warning_about_it_names_the_cause(world: World) -> None:
    warn(world, "FailedScheduling", "0/1 nodes are available", name="scheduler")
    warn(world, "FailedMount", "an earlier cause", at=world.now - 60, name="earlier")
    warn(world, "FailedMount", MISSING)
    world.advance(10)
    world.reconcile()
    assert world.condition("Ready") == f"False PodNotStarting: FailedMount: {MISSING}"


def test_a_warning_that_is_not_repeated_any_more_counts_for_nothing(world: World) -> None:
    warn(world, "FailedMount", MISSING, at=world.now - 600)
    world.advance(10)
    world.reconcile()
    assert "ContainerCreating for more than 10 s" in world.condition("Ready")


def test_a_job_pod_that_ends_before_its_container_starts_is_not_asked_for_a_log(world: World) -> None:
    def fail(pod: Any) -> None:
        init = {"name": "fetch", "state": {"terminated": {"exitCode": 1}}}
        waiting = {"name": "job", "state": {"waiting": {"reason": "PodInitializing"}}}
        pod["status"] = {"phase": "Failed", "initContainerStatuses": [init], "containerStatuses": [waiting]}

    world.edit_pod(plan_pod(world), fail)
    pod = world.pods[plan_pod(world)]
    assert isinstance(pod, JobPod)
    assert pod.phase is Phase.ENDED
    world.reconcile()
    message = "False InitContainerFailed: init container fetch exited with code 1"
    assert world.condition("Ready") == message


def test_an_eviction_that_only_an_event_names_is_named() -> None:
    world = World(spec={"tasksMax": 1})
    world.settle()
    (task,) = world.pods
    world.end(task, 0, "Completed")
    warn(world, "Evicted", 'Usage of EmptyDir volume "work" exceeds the limit "1Mi". ', pod=task)
    world.reconcile()
    assert 'Evicted: Usage of EmptyDir volume "work" exceeds the limit "1Mi"; lost' in world.condition("Ready")


def lists_of_events(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Field selectors of the lists of Events that the operator requests from now on."""
    seen = list[str]()
    inner = world.server.request

    def request(method: str, kind: Any, *args: Any, query: Any = None, **options: Any) -> Any:
        if kind is EVENT and method == "GET":
            seen.append((query or {}).get("fieldSelector", ""))
        return inner(method, kind, *args, query=query, **options)

    monkeypatch.setattr(world.server, "request", request)
    return seen


def test_the_message_stays_while_two_warnings_alternate(world: World) -> None:
    warn(world, "FailedMount", MISSING)
    world.advance(10)
    world.reconcile()
    for number, note in enumerate(('secret "key" not found', MISSING) * 2):
        world.advance(20)
        warn(world, "FailedMount", note, name=f"later-{number}")
        world.reconcile()
        assert world.condition("Ready") == f"False PodNotStarting: FailedMount: {MISSING}"


def test_pods_that_wait_cost_one_list_of_events_in_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(spec={"tasksMax": 5})
    world.settle()
    for name in world.lives:
        world.vanish(name)
    world.reconcile()
    tasks = [*world.pods]
    for name in tasks:
        world.hinder(name, "ContainerCreating", "")
    warn(world, "FailedMount", MISSING, pod=tasks[0])
    seen = lists_of_events(world, monkeypatch)
    world.advance(10)
    for _ in range(3):
        world.reconcile()
    assert seen == ["regarding.kind=Pod,type=Warning"]
    assert f"FailedMount: {MISSING}" in world.condition("Ready")
    world.advance(30)
    world.reconcile()
    assert len(seen) == 2


def test_events_that_are_not_listed_in_time_delay_no_decision(world: World) -> None:
    warn(world, "FailedMount", MISSING)
    context, waited = world._operator._context, list[float]()
    inner = context.run

    async def slow(call: Any, *args: Any, **options: Any) -> Any:
        if EVENT in args:
            loop = asyncio.get_running_loop()
            begun = loop.time()
            try:
                await asyncio.sleep(120)
            finally:
                waited.append(loop.time() - begun)
        return await inner(call, *args, **options)

    object.__setattr__(context, "run", slow)
    world.advance(10)
    assert world.reconcile().requeue_after == 30
    assert "ContainerCreating for more than 10 s" in world.condition("Ready")
    assert waited == [3]


def test_the_message_stays_while_events_cannot_be_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    warn(world, "FailedMount", MISSING)
    world.advance(10)
    world.reconcile()

    inner = world.server.request

    def request(method: str, kind: Any, *args: Any, **options: Any) -> Any:
        if kind is EVENT and method == "GET":
            raise Unavailable("Listing events: no answer")
        return inner(method, kind, *args, **options)

    monkeypatch.setattr(world.server, "request", request)
    world.advance(30)
    world.reconcile()
    assert world.condition("Ready") == f"False PodNotStarting: FailedMount: {MISSING}"


def evicted(world: World, *, after: float) -> str:
    """Condition Ready of a Connector whose operator looks `after` seconds after the eviction of its task."""
    (task,) = world.pods
    world.end(task, 0, "Completed")
    warn(world, "Evicted", "The node was low on resource", pod=task)
    world.advance(after)
    world.reconcile()
    return world.condition("Ready")


def test_an_eviction_is_named_by_an_operator_that_looks_ten_minutes_later() -> None:
    world = World(spec={"tasksMax": 1})
    world.settle()
    assert "Evicted: The node was low on resource" in evicted(world, after=600)


def test_an_ended_pod_that_was_replaced_costs_no_list_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(spec={"tasksMax": 1})
    world.settle()
    world.end(world.task(0).name, 0, "Completed")
    world.settle()
    seen = lists_of_events(world, monkeypatch)
    for _ in range(3):
        world.advance(31)
        world.reconcile()
    assert seen == []
