"""The operator may go, be killed, be uninstalled: records go on, and when it is back it picks up where things are."""

import time
from collections.abc import Callable, Mapping

import pytest

from .api import Object, ready
from .cluster import Failed
from .kafka import Kafka
from .place import Place, task
from .release import Release


@pytest.mark.slow
def test_while_the_operator_is_unavailable_records_continue_and_what_was_asked_meanwhile_is_done_afterwards(
    place: Place, release: Release
) -> None:
    source = place.datagen("orders", tasksMax=2, config={"partitions": 2, "rate": 100})
    idle = place.datagen("idle", state="Stopped")
    source.reaches("Running")
    idle.reaches("Stopped")
    release.scale(0)
    before = source.lives()
    assert place.kafka.arriving(source.topic, seconds=2) > 0
    idle.apply(state="Running")
    source.kill(1)
    release.scale(1)
    source.until(lambda c: task(c, 1).get("incarnation") == 2, "the task that was killed meanwhile is replaced")
    source.reaches("Running")
    idle.reaches("Running")
    assert source.lives()[source.pod(0)] == before[source.pod(0)], "nothing else is restarted"
    source.tells("TaskLost", "signal 9")


@pytest.mark.slow
def test_an_operator_that_is_killed_in_the_middle_of_a_start_or_a_change_comes_to_the_same_end(
    place: Place, release: Release, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", tasksMax=2, config={"partitions": 2, "rate": 100})

    def short_pod(pods: Mapping[str, Object]) -> bool:
        return any(p["metadata"]["labels"]["penstock.dev/role"] == "job" for p in pods.values())

    source.until_pods(short_pod, "the short pod of its plan")
    release.kill()
    source.until_pods(lambda pods: sum("-plan-" not in n for n in pods) == 2, "task pods", 90)
    release.kill()
    begun = time.monotonic()
    source.reaches("Running")
    measured("operator killed to Ready", time.monotonic() - begun)
    assert [t["incarnation"] for t in source.status["tasks"]] == [1, 1]

    source.configure(seed=7)
    source.until(lambda c: any(t["state"] == "Restarting" for t in c["status"]["tasks"]), "the change is under way")
    release.kill()
    source.reaches("Running")
    release.operator()
    assert [t["incarnation"] for t in source.status["tasks"]] == [2, 2]
    assert {t.get("losses", 0) for t in source.status["tasks"]} == {0}, "what the operator ended itself is no loss"
    assert len(source.pods()) == 2
    source.apply(state="Stopped")
    source.reaches("Stopped")
    numbers = place.kafka.values(source.topic)
    counts = [numbers.count(n) for n in range(max(numbers) + 1)]
    assert max(counts) == 2
    assert counts == sorted(counts, reverse=True)


@pytest.mark.slow
def test_uninstalled_and_installed_again_it_takes_running_tasks_over_as_they_are(
    place: Place, release: Release, kafka: Kafka
) -> None:
    source = place.datagen("orders", config={"rate": 50})
    source.reaches("Running")
    before = source.lives()
    release.uninstall()
    assert place.cluster.api.get("connectors", place.namespace, "orders") is not None, "definitions are kept"
    assert place.kafka.arriving(source.topic, seconds=2) > 0
    release.install({"bootstrap.servers": kafka.servers})
    source.apply(state="Paused")  # it is looked after again
    source.reaches("Paused")
    assert source.lives() == before
    source.apply(state="Running")
    source.reaches("Running")
    assert source.lives() == before


@pytest.mark.slow
@pytest.mark.expects("connector.client.config.override.policy")
def test_an_upgrade_with_a_wrong_worker_value_fails_and_leaves_the_operator_that_runs(
    place: Place, release: Release
) -> None:
    source = place.datagen("orders", config={"rate": 50})
    source.reaches("Running")
    own = release.operator()["metadata"]["uid"]
    wrong = ("connector.client.config.override.policy", "Whatever")

    with pytest.raises(Failed):
        release.change_worker(*wrong)
    pods = {p["metadata"]["uid"]: p for p in release.operators()}
    assert len(pods) == 2
    assert ready()(pods.pop(own)), "the operator of before runs"
    (new,) = pods.values()
    container = new["status"]["containerStatuses"][0]
    end = container["lastState"].get("terminated") or container["state"]["terminated"]
    assert "worker.connector.client.config.override.policy" in end["message"], "the pod's status has the cause"
    source.apply(state="Paused")
    source.reaches("Paused")

    place.cluster.kubectl("delete", "pod", _named(release, own), "-n", release.namespace)
    source.apply(state="Running")
    source.reaches("Running")  # another operator with the values of before

    release.roll_back()
    second = release.operator()["metadata"]["uid"]
    with pytest.raises(Failed):
        release.change_worker(*wrong, "--atomic")
    assert release.operator()["metadata"]["uid"] == second, "rolled back, and never replaced"


def _named(release: Release, uid: str) -> str:
    return next(str(p["metadata"]["name"]) for p in release.operators() if p["metadata"]["uid"] == uid)
