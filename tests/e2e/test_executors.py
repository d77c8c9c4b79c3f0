"""Executors of tasks in pods of their own: they deliver a backlog, and nothing depends on them."""

import pytest

from .counting_source import counting_source
from .executors import delivered_once, executors, running, says, secrets
from .place import Place, condition, task


def test_executors_that_a_quota_refuses_are_named_in_a_condition_and_the_connector_is_ready(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 20}, spark={"start": "OnDemand", "executors": executors(2, 2)})
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
    place.apply(quota)
    source.reaches("Running")
    message = says(source, "False", "QuotaExceeded", "1 of 2 executors are ready", "exceeded quota: few")
    assert "-e1 is refused" in message
    assert condition(source.get())["status"] == "True"
    assert len(place.kafka.values(source.topic, least=20)) >= 20
    place.cluster.kubectl("delete", "resourcequota", "few", "--namespace", place.namespace)
    says(source, "True", "Connected", "2 of 2")


@pytest.mark.slow
def test_a_backlog_is_delivered_once_by_executors_of_which_one_is_killed_and_they_go_when_it_is_done(
    place: Place,
) -> None:
    count = 60_000
    spark = {"start": "OnDemand", "idleTimeout": "20s", "executors": executors(2)}
    source = counting_source(place, count=count, spark=spark)
    place.kafka.create(source.topic, 4)
    source.apply()
    source.reaches("Running")
    says(source, "True", "Connected", "2 of 2", limit=240)
    first, second = source.until_pods(lambda pods: running(pods) if len(running(pods)) == 2 else None, "two run")
    assert task(source.get())["executors"] == {"wanted": 2, "ready": 2}
    victim = source.pods("executor")[first]["metadata"]["uid"]
    place.cluster.kill_pod(victim)
    source.until_pods(
        lambda pods: len(running(pods)) == 2 and pods[running(pods)[0]]["metadata"]["uid"] != victim, "another", 120
    )
    delivered_once(place, source, count)
    assert condition(source.get())["status"] == "True"
    source.until_pods(lambda pods: not running(pods), "idle executors go", 180)
    source.until(lambda c: not condition(c, "ExecutorsReady"), "none is wanted")
    assert second


@pytest.mark.slow
def test_executors_go_with_the_driver_and_its_successor_gets_others_with_another_secret(place: Place) -> None:
    spark = {"start": "OnDemand", "executors": executors(1)}
    source = counting_source(place, count=1_000_000, spark=spark)
    source.apply()
    source.reaches("Running")
    says(source, "True", "Connected", "1 of 1", limit=240)
    pod = source.pod()
    (before,) = source.until_pods(lambda pods: running(pods) or None, "one runs")
    assert list(secrets(place).values()) == [pod]
    source.kill()
    (after,) = source.until_pods(lambda pods: set(running(pods)) - {before} or None, "the successor has one", 240)
    source.until_pods(lambda pods: before not in pods, "the executor of the killed driver is gone")
    owners = list(secrets(place).values())  # the pod that ended is kept for its log, and its Secret with it
    assert owners.count(source.pod()) == 1
    assert set(owners) <= {pod, source.pod()}
    assert after.startswith(source.pod())
    source.delete()
    place.cluster.api.until_all(
        "secrets", place.namespace, lambda found: not any("-spark-" in n for n in found), "gone"
    )
