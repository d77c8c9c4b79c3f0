"""What a connector with many active topics costs the operator, and one that goes on to use a new one each second."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil
from confluent_kafka import Producer
from tests.bench.operator_figures import rests, writes
from tests.integration.operator_life.world.processes import OperatorProcess
from tests.integration.operator_life.world.site import Site

from penstock_model.connect.status_records import topic_status

__all__ = ["TopicFigures", "new_topics_each_second"]


@dataclass(frozen=True)
class TopicFigures:
    """Seconds until that many topics at once are in the status; then, with a new one each second, writes and CPU.

    Attributes:
        told: seconds until all that came at once are counted.
        writes: by the operator, a minute.
        cpu: share of a core.
    """

    told: float
    writes: float
    cpu: float


def new_topics_each_second(site: Site, operator: OperatorProcess, name: str, known: int, seconds: int) -> TopicFigures:
    """Let a connector use so many topics at once, and then a new one each second for so long."""
    producer = Producer({"bootstrap.servers": site.servers, "partitioner": "murmur2_random"})

    def use(topics: Sequence[str]) -> None:
        for topic in topics:
            key, value = topic_status(topic, f"{site.namespace}.{name}", 0, time.time_ns() // 1_000_000)
            producer.produce(site.topic, key=key, value=value)
        assert producer.flush(30) == 0

    def counted(count: int) -> None:
        site.until(name, lambda b: b["status"].get("activeTopicCount") == count, f"{count} topics are told", seconds=60)

    begun = time.monotonic()
    use([f"shop.orders.of-customer-{n:05}" for n in range(known)])
    counted(known)
    told = time.monotonic() - begun
    rests(operator)
    process = psutil.Process(operator.pid)
    before, written, begun = process.cpu_times(), writes(operator), time.monotonic()
    for n in range(seconds):
        use([f"shop.orders.of-customer-{known + n:05}"])
        time.sleep(max(0.0, begun + n + 1 - time.monotonic()))
    took, after = time.monotonic() - begun, process.cpu_times()
    used = after.user + after.system - before.user - before.system
    figures = TopicFigures(told, (writes(operator) - written) * 60 / took, used / took)
    counted(known + seconds)
    return figures
