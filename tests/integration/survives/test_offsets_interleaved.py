"""Starts, stops, kills and actions on offsets in any order: the offsets are what the actions that succeeded, and the records
that were delivered, come to. Seeded; what breaks tells its seed.
"""

import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.running import until

from penstock_model.contracts.job import Action, JobRequest, OffsetsVerb, OffsetsWork, Outcome

from ..pod.test_jobs import alive
from ..pods import Pods, pods, shown

__all__ = ["pods"]


class History:
    """What one source may stand at, by what was done to it.

    Attributes:
        may_be: the offsets that its next run may begin with.
        open: what was done since the records were read that cannot be read yet: a run, or an offset that may be set.
        read: how many records of the topic are accounted for.
        told: what was done, for a failure.
    """

    def __init__(self, values: Callable[[], list[int]]) -> None:
        self._values = values
        self.may_be = {0}
        self.open: list[int | None] = []
        self.read = 0
        self.told: list[str] = []

    def settle(self, becomes: int | None = None) -> None:
        """Account for all records, now that no earlier run can add any; then the offset is `becomes`, if that was set."""
        rest = self._values()[self.read :]
        self.read += len(rest)
        for event in self.open:
            if event is not None:
                self.may_be = {*self.may_be, event}
            elif rest and rest[0] in self.may_be:
                length = next((n for n in range(1, len(rest)) if rest[n] != rest[n - 1] + 1), len(rest))
                self.may_be, rest = {rest[length - 1] + 1}, rest[length:]
        assert not rest, f"{rest[:5]} follow, and one of {sorted(self.may_be)} was to come: {self.told}"
        self.open.clear()
        if becomes is not None:
            self.may_be = {becomes}


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_offsets_come_to_what_was_done_in_any_order(pods: Pods, rounds: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    topic = pods.lab.topic()
    config = {
        "topic": topic,
        "rate": 400,
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
        "offsets.storage.topic": pods.lab.topic("own", cleanup_policy="compact"),
    }
    resource = shown(f"many-{uuid.uuid4().hex[:8]}", "shop", **{"class": "Datagen", "config": config})

    def values() -> list[int]:
        return [json.loads(v)["order_id"] for v in pods.lab.values(topic)]

    history = History(values)
    actions: dict[str, Callable[[], None]] = {
        "run": lambda: run(pods, resource, rng, history, topic, kill=False),
        "run and kill": lambda: run(pods, resource, rng, history, topic, kill=True),
        "alter": lambda: change(pods, resource, history, rng.randrange(5_000)),
        "reset": lambda: change(pods, resource, history, None),
        "alter and kill": lambda: killed_change(pods, resource, rng, history, rng.randrange(5_000)),
        "reset and kill": lambda: killed_change(pods, resource, rng, history, None),
        "list": lambda: listed(pods, resource, history),
    }
    history.told.append(f"seed {seed}")
    for _ in range(2 * rounds):
        name = rng.choice([*actions])
        history.told.append(name)
        actions[name]()
    history.told.append("the end")
    run(pods, resource, rng, history, topic, kill=False)


def run(pods: Pods, resource: dict[str, Any], rng: random.Random, history: History, topic: str, *, kill: bool) -> None:
    """Run its task until it has delivered something, and end it."""
    answer = pods.answer(Action.PLAN, resource, prepare=True)
    assert answer.plan is not None, answer
    history.settle()  # what ran before is fenced
    history.open.append(None)
    task = pods.task(alive(answer.plan.tasks[0], answer.epoch))
    if not kill:
        until(lambda: len(pods.lab.values(topic)) > history.read + 20, what=task.process.last_words)
        task.process.stop()
        history.settle()
        return
    time.sleep(rng.random() * 6.0)  # killed wherever it is
    task.process.kill_all()


def work(offset: int | None) -> OffsetsWork:
    if offset is None:
        return OffsetsWork(verb=OffsetsVerb.RESET)
    entry = {"partition": {"datagen": "orders", "partition": 0}, "offset": {"count": offset}}
    return OffsetsWork(verb=OffsetsVerb.ALTER, document=json.dumps({"offsets": [entry]}))


def change(pods: Pods, resource: dict[str, Any], history: History, offset: int | None) -> None:
    """Set its offset, or reset it."""
    answer = pods.answer(Action.OFFSETS, resource, offsets=work(offset))
    assert answer.outcome is Outcome.DONE, (answer, history.told)
    history.settle(offset or 0)


def killed_change(
    pods: Pods, resource: dict[str, Any], rng: random.Random, history: History, offset: int | None
) -> None:
    """The same, killed wherever it is."""
    worker = {"bootstrap.servers": pods.lab.servers} | {
        f"{kind}.storage.replication.factor": "1" for kind in ("offset", "status")
    }
    request = JobRequest(action=Action.OFFSETS, id="killed", connector=resource, worker=worker, offsets=work(offset))
    file = pods.folder / "killed.json"
    file.write_text(request.to_json())
    job = subprocess.Popen(
        [sys.executable, "-m", "penstock_runtime.job", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(0.5 + rng.random() * 1.5)
    job.kill()
    job.wait()
    history.open.append(offset or 0)


def listed(pods: Pods, resource: dict[str, Any], history: History) -> None:
    """Its list, where nothing is open that may still change it."""
    answer = pods.answer(Action.LIST_OFFSETS, resource, kind="source")
    assert answer.outcome is Outcome.DONE, (answer, history.told)
    assert answer.offsets is not None
    counts = [e["offset"]["count"] for e in json.loads(answer.offsets)["offsets"]] or [0]
    if not history.open:
        assert len(counts) == 1
        assert counts[0] in history.may_be, (counts, history.may_be, history.told)
        history.may_be = set(counts)
