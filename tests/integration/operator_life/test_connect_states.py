"""Kafka Connect's states in the status topic, of an operator with real tasks: what other tools read there.

Real are the operator's process, API server, broker, short pods' code and task processes; scheduler and kubelet are played.
"""

import functools
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ..journal import Journal
from ..lab import Lab
from ..running import Processes
from .world.answers import real
from .world.real_tasks import RealTasks
from .world.site import Site, condition

pytestmark = pytest.mark.slow

TEXT = {"key.converter": "StringConverter", "value.converter": "StringConverter"}


@pytest.fixture
def real_site(make_site: Callable[..., Site], processes: Processes, tmp_path: Path) -> Site:
    """A site whose tasks are real."""
    return make_site(answers=real, workers=8, node=functools.partial(RealTasks, processes=processes, folder=tmp_path))


@pytest.fixture
def life(real_site: Site) -> Site:
    """The same with an operator."""
    real_site.operator().start()
    return real_site


def source(journal: Journal, topic: str, script: list[Any], **more: str) -> dict[str, Any]:
    """`spec.config` of a scripted source."""
    return {**TEXT, "journal": journal.path, "topic": topic, "script": json.dumps(script), **more}


SCRIPTED: dict[str, Any] = {"class": "scripted_sources:ScriptedSource"}


class States:
    """What the status topic tells of one connector."""

    def __init__(self, site: Site, name: str) -> None:
        self.name = f"{site.namespace}.{name}"
        self.records = site.kubelet.records

    def connector(self) -> list[str | None]:
        return self.records.states(f"status-connector-{self.name}")

    def task(self, number: int) -> list[str | None]:
        return self.records.states(f"status-task-{self.name}-{number}")

    def until(self, connector: Sequence[str | None], *tasks: Sequence[str | None]) -> None:
        """Wait until these are the states, from the first to the last.

        A task that fails at once may not have come to say RUNNING: RESTARTING, then RUNNING or FAILED, says the scenario.
        """
        wanted = [_brief(states) for states in (connector, *tasks)]

        def found() -> list[list[str | None]]:
            return [_brief(states) for states in (self.connector(), *(self.task(n) for n in range(len(tasks))))]

        try:
            self.records.until(lambda: found() == wanted, "the states", 60)
        except AssertionError:
            assert found() == wanted

    def latest(self, key: str) -> dict[str, Any]:
        """The value that stands under a key."""
        found: dict[str, Any] = json.loads(self.records.latest[f"{key}-{self.name}".encode()])
        return found


def _brief(states: Sequence[str | None]) -> list[str | None]:
    """Without a RUNNING that FAILED follows."""
    return [s for s, after in itertools.pairwise((*states, None)) if (s, after) != ("RUNNING", "FAILED")]


@pytest.mark.scenario("state-status-record")
@pytest.mark.scenario("state-stop")
def test_a_connector_that_stops_is_stopped_without_tasks_and_continues_as_it_was(life: Site, journal: Journal) -> None:
    states = States(life, "orders")
    config = source(journal, f"t-{life.namespace}", [], scripts=json.dumps([[["a"]], [["b"]]]))
    life.create("orders", **SCRIPTED, tasksMax=2, config=config)
    life.settled("orders")
    states.until(["RUNNING"], ["RUNNING"], ["RUNNING"])
    for key in (f"status-connector-{states.name}", f"status-task-{states.name}-0"):
        record = json.loads(states.records.latest[key.encode()])
        assert list(record) == ["state", "trace", "worker_id", "generation", "version"]
        assert (record["state"], record["trace"], record["version"]) == ("RUNNING", None, "undefined")
        assert isinstance(record["worker_id"], str)
        assert record["generation"] > 0
    journal.count("commit", 2)

    jobs = len(life.kubelet.jobs)
    life.change("orders", state="Stopped")
    stopped = life.settled("orders", "Stopped")
    states.until(["RUNNING", "STOPPED"], *[["RUNNING", "UNASSIGNED", None]] * 2)
    assert [k for k in states.records.latest if k.startswith(b"status-task-")] == []
    assert len(life.kubelet.jobs) == jobs  # a stop starts no pod
    assert life.get("orders")["spec"]["config"] == config
    assert stopped["status"]["replicas"] == 0
    life.change("orders", state="Stopped", tasksMax=2)  # once more
    life.annotate("orders", nothing="")
    life.settled("orders", "Stopped")
    states.until(["RUNNING", "STOPPED"], *[["RUNNING", "UNASSIGNED", None]] * 2)

    life.change("orders", state="Running")
    life.settled("orders")
    states.until(["RUNNING", "STOPPED", "RUNNING"], *[["RUNNING", "UNASSIGNED", None, "RUNNING"]] * 2)
    assert [e["offset"] for e in journal.of("start")] == [None, None, {"i": 0}, {"i": 0}]
    life.check()


KEPT: dict[str, Any] = {"restart": {"policy": "Never"}}


def one_of_three_fails(life: Site, journal: Journal) -> States:
    """Three tasks, of which task 1 is FAILED."""
    config = source(journal, f"t-{life.namespace}", [])
    config = {**config, "scripts": json.dumps([[["a"]], [{"raise": "fatal", "message": "poll refused"}], [["c"]]])}
    life.create("orders", **SCRIPTED, **KEPT, tasksMax=3, config=config)
    states = States(life, "orders")
    states.until(["RUNNING"], ["RUNNING"], ["RUNNING", "FAILED"], ["RUNNING"])
    life.until("orders", lambda b: condition(b, "Stalled").startswith("True TasksFailed"), "failed")
    return states


def tasks_are(body: dict[str, Any], *words: str) -> bool:
    return [t["state"] for t in body["status"]["tasks"]] == list(words)


def incarnations(life: Site) -> list[int]:
    return [t["incarnation"] for t in life.get("orders")["status"]["tasks"]]


@pytest.mark.scenario("state-pause-failed")
def test_pausing_and_resuming_leaves_a_failed_task_failed(life: Site, journal: Journal) -> None:
    states = one_of_three_fails(life, journal)
    life.change("orders", state="Paused")
    body = life.until("orders", lambda b: tasks_are(b, "Paused", "Failed", "Paused"), "paused")
    assert "poll refused" in body["status"]["tasks"][1]["trace"]
    states.until(["RUNNING", "PAUSED"], ["RUNNING", "PAUSED"], ["RUNNING", "FAILED"], ["RUNNING", "PAUSED"])
    life.change("orders", state="Running")
    life.until("orders", lambda b: tasks_are(b, "Running", "Failed", "Running"), "resumed")
    again = ["RUNNING", "PAUSED", "RUNNING"]
    states.until(again, again, ["RUNNING", "FAILED"], again)
    assert "poll refused" in json.loads(states.records.latest[f"status-task-{states.name}-1".encode()])["trace"]
    assert incarnations(life) == [1, 1, 1]
    life.check()


@pytest.mark.scenario("source-too-many-tasks")
def test_a_running_connector_whose_plugin_requests_too_many_tasks_continues_as_it_was(
    life: Site, journal: Journal
) -> None:
    config = source(journal, f"t-{life.namespace}", [], scripts=json.dumps([[["a"]], [["b"]], [["c"]]]))
    life.create("orders", **SCRIPTED, tasksMax=3, config=config)
    life.settled("orders")
    states = States(life, "orders")
    states.until(["RUNNING"], *[["RUNNING"]] * 3)
    pods = [p["metadata"]["uid"] for p in life.kubelet.alive(life.key("orders"))]
    life.change("orders", tasksMax=1)
    body = life.until("orders", lambda b: condition(b, "Stalled").startswith("True ConfigInvalid"), "refused")
    told = condition(body, "ConfigValid")
    assert f"The connector {states.name} has generated 3 tasks, which is greater than 1, the maximum number" in told
    assert body["status"]["state"] == "Running"
    assert tasks_are(body, "Running", "Running", "Running")
    assert [p["metadata"]["uid"] for p in life.kubelet.alive(life.key("orders"))] == pods
    states.until(["RUNNING"], *[["RUNNING"]] * 3)
    life.change("orders", tasksMax=3)
    life.settled("orders")
    assert [p["metadata"]["uid"] for p in life.kubelet.alive(life.key("orders"))] == pods
    life.check()


@pytest.mark.scenario("restart-failed-only")
def test_restarting_what_failed_leaves_the_others_untouched(life: Site, journal: Journal) -> None:
    states = one_of_three_fails(life, journal)
    life.annotate("orders", restart_failed="a")
    states.until(["RUNNING"], ["RUNNING"], ["RUNNING", "FAILED", "RESTARTING", "RUNNING", "FAILED"], ["RUNNING"])
    life.until("orders", lambda b: condition(b, "Stalled").startswith("True TasksFailed"), "failed again")
    assert incarnations(life) == [1, 2, 1]
    assert [e["event"] for e in journal.of("stop")] == ["stop"] * 2  # of task 1 alone, which ends by itself
    life.check()


@pytest.mark.scenario("restart-everything")
def test_restarting_everything_takes_connector_and_tasks_through_restarting(life: Site, journal: Journal) -> None:
    states = one_of_three_fails(life, journal)
    life.annotate("orders", restart="a")
    anew = ["RUNNING", "UNASSIGNED", "RESTARTING", "RUNNING"]
    states.until(anew, anew, ["RUNNING", "FAILED", "RESTARTING", "RUNNING", "FAILED"], anew)
    assert incarnations(life) == [2, 2, 2]
    life.check()


@pytest.mark.scenario("restart-stopped")
def test_restarting_a_stopped_connector_is_answered_and_it_stays_stopped(life: Site, journal: Journal) -> None:
    life.create("orders", **SCRIPTED, config=source(journal, f"t-{life.namespace}", [["a"]]))
    life.settled("orders")
    life.change("orders", state="Stopped")
    life.settled("orders", "Stopped")
    life.annotate("orders", restart="a")
    body = life.until("orders", lambda b: b["status"].get("restartActions"), "answered")
    (answer,) = body["status"]["restartActions"]
    assert (answer["token"], answer["result"]) == ("a", "Refused")
    assert "nothing to restart" in answer["message"]
    life.settled("orders", "Stopped")
    states = States(life, "orders")
    states.until(["RUNNING", "STOPPED"], ["RUNNING", "UNASSIGNED", None])
    assert life.kubelet.alive(life.key("orders")) == []
    life.change("orders", state="Running")  # and it is not made up for
    life.settled("orders")
    states.until(["RUNNING", "STOPPED", "RUNNING"], ["RUNNING", "UNASSIGNED", None, "RUNNING"])
    life.check()


@pytest.mark.scenario("state-initial-state")
def test_a_connector_created_stopped_is_stopped_without_tasks_until_it_is_started(life: Site, journal: Journal) -> None:
    life.kubelet.records.make()
    states = States(life, "orders")
    life.create("orders", **SCRIPTED, state="Stopped", config=source(journal, f"t-{life.namespace}", [["a"]]))
    body = life.settled("orders", "Stopped")
    assert body["status"].get("tasks") is None
    life.operators[0].until(lambda: life.operators[0].probe("readyz")[0] == 200, "ready")
    life.annotate("orders", nothing="")  # the operator may have looked before it saw the topic
    states.until(["STOPPED"], [])
    assert life.kubelet.jobs == []
    assert journal.kinds() == []
    life.change("orders", state="Running")
    life.settled("orders")
    states.until(["STOPPED", "RUNNING"], ["RUNNING"])
    life.check()


def test_a_task_that_was_killed_is_unassigned_until_it_is_restarted(life: Site, journal: Journal) -> None:
    life.create("orders", **SCRIPTED, config=source(journal, f"t-{life.namespace}", [["a"]]))
    life.settled("orders")
    states = States(life, "orders")
    states.until(["RUNNING"], ["RUNNING"])
    seen = ["RUNNING"]
    # The first loss is made good at once, the second in a row after a moment.
    for number, between in ((1, ["RESTARTING", "RUNNING"]), (2, ["UNASSIGNED", "RESTARTING", "RUNNING"])):
        node = life.kubelet
        assert isinstance(node, RealTasks)
        node.process(f"{life.namespace}/orders-0-{number}").process.kill()
        seen += between
        states.until(["RUNNING"], seen)
        life.settled("orders")
    life.check()


@pytest.mark.scenario("active-topics-reset-and-come-back")
def test_topics_are_reset_while_a_sink_runs_and_the_one_that_is_used_comes_back(
    life: Site, journal: Journal, processes: Processes
) -> None:
    lab = Lab(life.servers, processes, journal)
    one, two = lab.topic("tt-a"), lab.topic("tt-b")
    lab.produce(one, "a")
    lab.produce(two, "b")
    sink: dict[str, Any] = {"class": "scripted_sinks:RecordingSink"}
    life.create("tt", **sink, config={**TEXT, "journal": journal.path, "topics": f"{one},{two}"})
    body = life.until("tt", lambda b: b.get("status", {}).get("activeTopicCount") == 2, "both are active")
    before = {t["name"]: t["since"] for t in body["status"]["activeTopics"]}
    records = States(life, "tt").records
    keys = {t: f"status-topic-{t}:connector-{life.namespace}.tt".encode() for t in (one, two)}
    life.annotate("tt", reset_topics="r1")
    body = life.until("tt", lambda b: b["status"].get("activeTopicCount") == 0, "none is active")
    assert "activeTopics" not in body["status"]
    records.until(lambda: {*keys.values()} <= {*records.tombstones} - {*records.latest}, "both have tombstones")
    lab.produce(two, "c")
    body = life.until("tt", lambda b: b["status"].get("activeTopicCount") == 1, "the one that is used is back")
    (back,) = body["status"]["activeTopics"]
    assert back["name"] == two
    assert back["since"] >= before[two]
    assert json.loads(records.latest[keys[two]])["topic"]["discoverTimestamp"] > 0
    assert keys[one] not in records.latest
    life.check()


@pytest.mark.scenario("active-topics-reset-not-allowed")
def test_a_reset_that_is_not_allowed_is_refused_and_a_deletion_leaves_tombstones_all_the_same(
    real_site: Site, journal: Journal
) -> None:
    life = real_site
    life.operator(properties={"topic.tracking.allow.reset": "false"}).start()
    topic = f"t-{life.namespace}"
    life.create("orders", **SCRIPTED, config=source(journal, topic, [["a"]]))
    life.settled("orders")
    states = States(life, "orders")
    active = f"status-topic-{topic}:connector-{states.name}".encode()
    states.records.until(lambda: active in states.records.latest, "an active topic")
    life.annotate("orders", reset_topics="r1")
    body = life.until("orders", lambda b: b["status"].get("offsetsActions"), "the reset has its result")
    (action,) = body["status"]["offsetsActions"]
    assert (action["result"], action["message"]) == ("Refused", "Topic tracking reset is disabled.")
    states.until(["RUNNING"], ["RUNNING"])
    life.delete("orders")
    life.gone("orders")
    states.until(["RUNNING", None], ["RUNNING", "UNASSIGNED", None])
    states.records.until(lambda: active in states.records.tombstones and active not in states.records.latest, "gone")
    # Earlier incarnations must remain fenced, and a used token must not work again after the connector is recreated.
    kept = (b'["penstock-incarnation"', b'["penstock-used-tokens"')
    left = [k for k in states.records.of(states.name) if not k.startswith(kept)]
    assert left == []
    life.check()


def test_a_connectors_state_that_somebody_else_writes_over_is_put_right(site: Site) -> None:
    """An operator that was frozen while another took over, a Kafka Connect where the connector is deleted at last."""
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    states = States(site, "orders")
    states.until(["RUNNING"])
    key = f"status-connector-{states.name}".encode()
    late = json.dumps({"state": "STOPPED", "trace": None, "worker_id": "old", "generation": 1, "version": None})
    site.kubelet.records.write(key, late.encode())
    states.until(["RUNNING", "STOPPED", "RUNNING"])
    site.kubelet.records.write(key, None)
    states.until(["RUNNING", "STOPPED", "RUNNING", None, "RUNNING"])
    site.check()
