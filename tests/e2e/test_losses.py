"""Pods that the infrastructure takes away: replaced, named as what they were, and no record lost or doubled."""

import itertools
from collections.abc import Callable

import pytest

from .place import Connector, Place, task

COUNT = 6_000


def replaced(source: Connector, number: int, limit: float = 60) -> None:
    """Wait until a task runs in another life than its first."""

    def there(found: dict[str, object]) -> bool:
        own = task(found, number)
        return int(own.get("incarnation", 0)) > 1 and own["state"] == "Running"

    source.until(there, f"task {number} runs again", limit)


@pytest.mark.slow
def test_a_task_whose_process_is_killed_is_replaced_immediately_and_loses_and_doubles_nothing(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", config={"rate": 300, "count": COUNT})
    source.reaches("Running")
    place.kafka.records(source.topic, least=300)
    pod = source.kill()
    replaced(source, 0)
    message = source.tells("TaskLost", "signal 9")
    assert "memory" in message, "what may have killed it is told"
    records = place.kafka.records(source.topic, least=COUNT)
    assert len(records) == COUNT
    gap = max(b.timestamp - a.timestamp for a, b in itertools.pairwise(records))
    measured("kill -9 of a task's process: no record for", gap)
    own = task(source.get())
    assert (own["restarts"], own["losses"], own.get("failures", 0)) == (1, 1, 0)
    assert own["pod"] != pod
    assert source.reaches("Running")


def test_a_pod_that_is_deleted_or_whose_container_dies_is_replaced_and_the_others_stay(place: Place) -> None:
    source = place.datagen("orders", tasksMax=3, config={"partitions": 3, "rate": 150, "count": COUNT})
    source.reaches("Running")
    place.kafka.records(source.topic, least=300)
    before = source.lives()
    deleted, killed = source.pod(0), source.pod(1)
    source.kubectl("delete", "pod", deleted, "--grace-period=0", "--force")
    if place.cluster.kind == "own":  # the container as a whole, with its first process, as only the node can
        place.cluster.kill_pod(before[killed])
    else:
        source.kill(1)
    replaced(source, 0)
    replaced(source, 1)
    numbers = place.kafka.values(source.topic, least=COUNT)
    assert sorted(numbers) == sorted([*range(COUNT // 3)] * 3)
    source.reaches("Running")
    after = source.lives()
    stayed = source.pod(2)
    assert after[stayed] == before[stayed]
    assert deleted not in after
    assert f"pod {deleted}" in source.tells("TaskLost", "task 0")
    source.tells("TaskLost", "task 1")


HUNGRY = """
from penstock import prop
from penstock_plugins.connectors.datagen.source import Datagen, DatagenConfig


class HungryConfig(DatagenConfig):
    megabytes: int = prop("megabytes", 1, doc="How much a task holds.")


class Hungry(Datagen):
    Config = HungryConfig

    def source(self, config):
        self.held = b"x" * (config.megabytes << 20)
        return super().source(config)
"""


@pytest.mark.slow
def test_a_task_that_exceeds_its_memory_is_named_so_and_continues_with_more(place: Place) -> None:
    topic = f"{place.namespace}.orders"
    plugin = place.plugin("hungry", HUNGRY)
    config = {"topic": topic, "rate": 300, "count": 3_000}
    source = place.connector("orders", "hungry:Hungry", config, template={**plugin, **memory("256Mi")})
    source.reaches("Running")
    place.kafka.records(topic, least=50)
    source.configure(megabytes=400)
    told = source.until(
        lambda c: next((t for t in c["status"]["tasks"] if t.get("reason") == "OOMKilled"), None), "OOMKilled"
    )
    assert "spec.template.resources.limits.memory" in told["message"]
    source.tells("TaskLost", "OOMKilled")
    source.apply(template={**plugin, **memory("1Gi")})
    source.reaches("Running")
    assert place.kafka.values(topic, least=3_000) == list(range(3_000))


def memory(limit: str) -> dict[str, object]:
    return {"resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": limit}}}
