"""Resets of offsets by annotation (KIP-875): operator, API server, broker, the work of job pods and tasks are real."""

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.job import Action, JobAnswer, JobRequest, Outcome

from ..lab import Lab
from ..running import Processes, until
from .test_connect_states import SCRIPTED, TEXT, source
from .world.answers import real
from .world.real_tasks import RealTasks
from .world.site import Site, condition, is_settled
from .world.watched import Json

BATCHES = [[f"v{n}"] for n in range(3)]
VALUES = [f"v{n}" for n in range(3)]


class Held:
    """Does job pods' work, and can keep that of an action on offsets from going on for a while."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self.begun = threading.Event()
        self.answers: list[JobAnswer] = []
        """To actions on offsets."""

    def __call__(self, request: JobRequest) -> JobAnswer:
        if request.action is not Action.OFFSETS:
            return real(request)
        self.begun.set()
        assert self.go_on.wait(240)
        self.answers.append(real(request))
        return self.answers[-1]


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def life(make_site: Callable[..., Site], held: Held, processes: Processes, tmp_path: Path) -> Site:
    """A site whose tasks are real, and an operator."""
    made = make_site(answers=held, workers=8, node=functools.partial(RealTasks, processes=processes, folder=tmp_path))
    made.operator().start()
    return made


def entry_of(body: Json, token: str) -> Json:
    entries = (body.get("status") or {}).get("offsetsActions", ())
    return next((e for e in entries if e["token"] == token), {})


def own_entries(body: Json) -> list[Json]:
    """What only the operator uses of each action."""
    return (body.get("status") or {}).get("operatorState", {}).get("offsetsActions") or [{}]


def done(life: Site, token: str, *, seconds: float = 120) -> Json:
    """The entry of an action, once it has its result."""
    body = life.until(
        "orders", lambda b: entry_of(b, token).get("result") not in (None, "Pending"), f"{token} has a result", seconds
    )
    return entry_of(body, token)


def stopped_after(life: Site, lab: Lab, topic: str, **config: str) -> None:
    """A source that has written its batches, and is stopped."""
    life.create("orders", **SCRIPTED, config=source(lab.journal, topic, BATCHES, **config))
    life.settled("orders", seconds=120)
    until(lambda: lab.values(topic) == VALUES, what=lambda: str(lab.values(topic)))
    lab.journal.count("commit", len(BATCHES))
    life.change("orders", state="Stopped")
    life.settled("orders", "Stopped", seconds=120)


def run(life: Site, lab: Lab, topic: str, kind: str) -> None:
    """A source that has written its batches, or a sink that has committed three records of a topic."""
    if kind == "source":
        life.create("orders", **SCRIPTED, config=source(lab.journal, topic, BATCHES))
        until(lambda: lab.values(topic) == VALUES, seconds=120)
        return
    lab.produce(topic, *"abc")
    sink: dict[str, Any] = {"class": "scripted_sinks:RecordingSink"}
    life.create("orders", **sink, config={**TEXT, "journal": lab.journal.path, "topics": topic})
    lab.wait_committed(f"{life.namespace}.orders", topic, 3)


def live(life: Site, lab: Lab) -> dict[bytes, bytes]:
    last = {r.key or b"": r.value for r in lab.offset_records(f"{life.namespace}.orders", f"{life.topic}-offsets")}
    return {key: value for key, value in last.items() if value is not None}


def pods_for_offsets(life: Site) -> list[str]:
    return [pod for pod, action in life.kubelet.jobs if action is Action.OFFSETS]


def test_a_source_starts_again_and_the_same_token_does_nothing_again(life: Site, lab: Lab) -> None:
    topic = lab.topic()
    stopped_after(life, lab, topic)
    life.annotate("orders", reset_offsets="r1")
    entry = done(life, "r1")
    assert (entry["action"], entry["result"]) == ("reset", "Succeeded"), entry
    assert entry["message"].endswith("1 position was removed.")
    assert live(life, lab) == {}
    life.change("orders", state="Running")
    until(lambda: lab.values(topic) == VALUES * 2, seconds=120)
    body = life.settled("orders", seconds=120)
    assert [(t["state"], t.get("losses", 0)) for t in body["status"]["tasks"]] == [("Running", 0)]
    life.change("orders", state="Stopped")
    life.settled("orders", "Stopped", seconds=120)
    life.annotate("orders", reset_offsets="r2")
    done(life, "r2")
    life.annotate("orders", reset_offsets="r1")  # as an older commit does
    life.settled("orders", "Stopped")
    assert len(pods_for_offsets(life)) == 2
    assert life.requests() == []
    life.check()


@pytest.mark.scenario("offsets-alter-not-stopped")
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_connector_that_runs_or_is_paused_keeps_its_offsets_and_pods(life: Site, lab: Lab, kind: str) -> None:
    topic = lab.topic()
    run(life, lab, topic, kind)
    pods = [t["pod"] for t in life.settled("orders", seconds=120)["status"]["tasks"]]
    for token, state in (("r1", "Running"), ("r2", "Paused")):
        life.change("orders", state=state)
        life.settled("orders", state)
        life.annotate("orders", reset_offsets=token)
        entry = done(life, token)
        assert entry["result"] == "Refused"
        assert entry["message"].startswith(
            "Connectors must be in the STOPPED state before their offsets can be modified"
        )
        assert [t["pod"] for t in life.settled("orders", state)["status"]["tasks"]] == pods
    assert pods_for_offsets(life) == []
    assert live(life, lab) if kind == "source" else lab.committed(f"{life.namespace}.orders", topic) == 3
    life.check()


@pytest.mark.slow
def test_a_resume_waits_for_the_pod_and_its_tasks_start_again(life: Site, lab: Lab, held: Held) -> None:
    topic = lab.topic()
    stopped_after(life, lab, topic)
    held.go_on.clear()
    life.annotate("orders", reset_offsets="r1")
    assert held.begun.wait(60)
    life.change("orders", state="Running")
    life.until(
        "orders", lambda b: "which is changing the offsets" in condition(b, "Ready"), "it says what it waits for"
    )
    assert life.kubelet.alive(life.key("orders")) == []
    held.go_on.set()
    assert done(life, "r1")["result"] == "Succeeded"
    until(lambda: lab.values(topic) == VALUES * 2, seconds=120)
    life.settled("orders", seconds=120)
    life.check()


@pytest.mark.slow
def test_a_pod_that_froze_over_a_resume_and_wakes_does_not_rewind_what_runs(life: Site, lab: Lab, held: Held) -> None:
    topic = lab.topic()
    stopped_after(life, lab, topic)
    held.go_on.clear()
    life.annotate("orders", reset_offsets="r1")
    assert held.begun.wait(60)
    (pod,) = [p for p in life.kubelet.pods.objects if "/orders-offsets-" in p]
    life.until("orders", lambda b: own_entries(b)[-1].get("podUID"), "the pod was seen")
    life.kubelet.vanish(pod)  # by force, so that nobody sees its end
    entry = done(life, "r1")
    assert entry["result"] == "Failed"
    assert entry["message"].startswith("outcome unknown: ")
    life.change("orders", state="Running")
    body = life.settled("orders", seconds=120)
    held.go_on.set()
    until(lambda: held.answers, seconds=60)
    assert held.answers[0].outcome is Outcome.SUPERSEDED
    assert list(live(life, lab).values()) == [b'{"i":2}']
    assert len(life.kubelet.alive(life.key("orders"))) == 1
    number = body["status"]["tasks"][0]["incarnation"]
    life.annotate("orders", restart="now")  # it reads its offsets again
    life.until(
        "orders", lambda b: b["status"]["tasks"][0]["incarnation"] > number and is_settled(b), "it runs again", 120
    )
    assert lab.values(topic) == VALUES
    assert pods_for_offsets(life) == [pod]
    life.check()
