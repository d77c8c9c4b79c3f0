"""A task that has nothing to write, or is paused, or writes without transactions, notices that a newer life took over."""

import pytest

from penstock_model.contracts.task_spec import TaskState

from ..lab import Lab
from ..running import next_life


@pytest.mark.parametrize("what", ["idle", "paused", "polling", "at-least-once"])
def test_a_task_that_writes_nothing_leaves_when_a_newer_life_begins(lab: Lab, what: str) -> None:
    topic = lab.topic()
    guarantee = "at-least-once" if what == "at-least-once" else "exactly-once"
    resource = lab.source_manifest([["v0"]], topic, polling=what == "polling", **{"delivery.guarantee": guarantee})
    spec = lab.spec(resource)
    if what == "paused":
        spec = spec.model_copy(update={"state": TaskState.PAUSED})
    first = lab.processes.task(spec)
    first.await_state("PAUSED" if what == "paused" else "RUNNING")
    if what != "paused":
        lab.journal.count("commit")
    second = lab.processes.task(next_life(spec))
    assert first.await_exit(30) == 3
    assert first.failure is None
    told = first.await_event(lambda e: e["event"] == "superseded")
    assert "was taken over by incarnation 2" in told["message"]
    second.stop()
    assert lab.values(topic) == ([] if what == "paused" else ["v0"])
