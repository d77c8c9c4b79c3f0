"""Each transform, predicate and converter of a task is closed once, in each process, at each end in order (KIP-585)."""

import os
from collections import Counter
from pathlib import Path

import pytest

from ..lab import Lab, failed
from ..running import manifest, new_name, until

PLACES = {"key.converter", "value.converter", "header.converter", "predicates.p", "transforms.a", "transforms.b"}


CLOSED = ("closed", True)


def chain(lab: Lab, *, refuses: str = "") -> dict[str, str]:
    """A chain of which each plugin tells its life; the one at `refuses` raises an error when it is closed."""
    config = {
        "key.converter": "closing_steps:Texts",
        "value.converter": "closing_steps:Texts",
        "header.converter": "closing_steps:TextHeaders",
        "predicates": "p",
        "predicates.p.type": "closing_steps:Always",
        "transforms": "a,b",
        "transforms.a.type": "closing_steps:Passing",
        "transforms.a.predicate": "p",
        "transforms.b.type": "closing_steps:Passing",
        "transforms.b.predicate": "p",
    }
    journals = {f"{place}.journal": lab.journal.path for place in PLACES}
    return {**config, **journals, **({f"{refuses}.refuses": "true"} if refuses else {})}


def lives(lab: Lab) -> tuple[Counter[str], Counter[str]]:
    """How often each object of a task was configured and closed."""
    configured, closed = (Counter(str(e["object"]) for e in lab.journal.of(kind)) for kind in ("configured", "closed"))
    return configured, closed


def test_a_source_that_stops_has_closed_its_chain_once(lab: Lab) -> None:
    topic = lab.topic()
    _, task = lab.source([["a"]], topic, **chain(lab))
    until(lambda: lab.values(topic) == ["a"])
    task.stop()
    configured, closed = lives(lab)
    assert closed == configured
    assert set(closed.values()) == {1}
    assert {e["place"] for e in lab.journal.of("closed")} == PLACES


def test_a_sink_that_stops_has_closed_its_chain_once(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    name, task = lab.sink(topic, **chain(lab))
    lab.wait_committed(name, topic, 1)
    task.stop()
    configured, closed = lives(lab)
    assert closed == configured
    assert set(closed.values()) == {1}
    assert (
        lab.journal.kinds()[-1] == "closed"
    )  # the chain outlives the sink, which may hand records back until it stops


def test_a_task_that_fails_has_closed_its_chain_once(lab: Lab) -> None:
    topic = lab.topic()
    _, task = lab.source([["a"], {"raise": "fatal", "message": "the end"}], topic, **chain(lab))
    assert "the end" in failed(task)
    configured, closed = lives(lab)
    assert closed == configured
    assert set(closed.values()) == {1}


def test_a_plugin_that_cannot_be_closed_keeps_no_other_open_and_fails_no_task(lab: Lab) -> None:
    topic = lab.topic()
    _, task = lab.source([["a"]], topic, **chain(lab, refuses="transforms.b"))
    until(lambda: lab.values(topic) == ["a"])
    task.stop()
    configured, closed = lives(lab)
    assert closed == configured
    assert "Cannot close the plugin of transforms.b: the connection was closed already" in task.log_text()


@pytest.mark.slow
@pytest.mark.parametrize("plugin", ["scripted_sinks:RecordingSink", "closing_steps:OnceFailingSink"])
def test_sparks_workers_close_their_chains_once_also_those_that_they_make_again(
    lab: Lab, tmp_path: Path, plugin: str
) -> None:
    topic, name = lab.topic("t", 2), new_name("closed")
    for partition in range(2):
        lab.produce(topic, *map(str, range(100_000)), partition=partition)
    config = {"topics": topic, "journal": lab.journal.path, "out": str(tmp_path / "out"), "slow": "1.0"}
    more = {"consumer.override.max.poll.records": "1000", **chain(lab)}
    _, task = lab.start(manifest(name, plugin, {**config, **more}, spark="Eager"))
    for partition in range(2):
        lab.wait_committed(name, topic, 100_000, partition)
    task.stop()

    configured, closed = lives(lab)
    assert closed == configured
    assert set(closed.values()) == {1}
    workers = {e["process"] for e in lab.journal.of("configured") if not e["driver"]} - {os.getpid()}  # it has planned
    ends = [
        e for e in lab.journal.events if e["event"] == "stop" or (e["event"], e.get("process") in workers) == CLOSED
    ]
    assert workers
    if "OnceFailing" in plugin:
        assert ends[0]["event"] == "closed"  # after the error, while the task goes on
