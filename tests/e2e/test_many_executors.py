"""Twenty Connectors that want executors at the same time, in a namespace whose quota admits only some of them."""

import os
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from ..integration.machine_time import share
from .api import Object
from .counting_source import counting_source
from .executors import delivered_once, running
from .place import Connector, Place, condition, task
from .release import Release

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(3_000)]

CONNECTORS: Final = 20
ROOM: Final = 8
"""Executors that the quota admits: forty are wanted."""
COUNT: Final = 10_000
"""Records of each of the four parts of a Connector."""
RATE: Final = 100
_LOADAVG: Final = Path("/proc/loadavg")
_GATE: Final = "/tmp/backlog"
_SMALL: Final = {"requests": {"cpu": "20m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
_WAITING: Final = re.compile(
    r"^penstock_operator_queue_oldest_(?:waiting|running)_seconds(?:\{.*\})? (.+)$", re.MULTILINE
)
_PATIENT: Final = 30.0
"""Seconds that a Connector may wait for the operator, or occupy it; on a busy machine they count by what it gives."""


@contextmanager
def longest_waits(release: Release) -> Iterator[list[tuple[float, float]]]:
    """Ask the operator every two seconds for how long Connectors wait for it.

    Each answer becomes the seconds that have passed, and those that the machine gave at that moment (`machine_time`).
    """
    found: list[tuple[float, float]] = []
    over = threading.Event()
    url = f"http://{release.operator()['status']['podIP']}:8080/metrics"

    def ask() -> None:
        while not over.wait(2):
            with urllib.request.urlopen(url, timeout=30) as answer:
                seconds = max(map(float, _WAITING.findall(answer.read().decode())))
            given = share(_LOADAVG.read_text(), len(os.sched_getaffinity(0)))
            found.append((seconds, seconds * given))

    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(ask)
        try:
            yield found
        finally:
            over.set()
        asking.result()


def executors_of_all(place: Place, claim: Callable[[list[str]], object], what: str, limit: float) -> None:
    """Wait until something holds of the executors of the namespace that run."""

    def there(pods: Mapping[str, Object]) -> bool:
        return bool(claim(running(pods)))

    place.cluster.api.until_all("pods", place.namespace, there, what, limit, labels="penstock.dev/role=executor")


def has_them_or_says_why_not(source: Connector) -> str:
    """Wait until the condition has either; its reason."""

    def there(found: Object) -> str | None:
        own = condition(found, "ExecutorsReady")
        is_told = own.get("reason") == "QuotaExceeded" and "quota" in own["message"].lower()
        return str(own["reason"]) if is_told or own.get("reason") == "Connected" else None

    return source.until(there, f"executors of {source.name}, or why there are fewer", 300)


def opened(place: Place, source: Connector) -> None:
    """Let the backlog of a source arrive in the present pod of its task."""
    place.cluster.python(place.namespace, source.pod(), f"open({_GATE!r}, 'w').close()")


def with_an_executor(place: Place) -> str:
    """Wait for a Connector with a backlog that an executor is connected to; its name."""

    def there(found: Mapping[str, Object]) -> str | None:
        return next((name for name, c in found.items() if task(c).get("executors", {}).get("ready")), None)

    return place.cluster.api.until_all("connectors", place.namespace, there, "an executor is connected", 300)


def test_twenty_backlogs_share_the_executors_that_a_quota_admits_each_record_once_and_tasks_come_first(
    place: Place, release: Release, measured: Callable[[str, float], None]
) -> None:
    spark: dict[str, Any] = {"idleTimeout": "10s", "executors": {"min": 0, "max": 2, "resources": _SMALL}}
    sources = [
        counting_source(place, name=f"c{n}", count=COUNT, rate=RATE, gate=_GATE, spark=spark) for n in range(CONNECTORS)
    ]
    for source in sources:
        source.spec["template"]["resources"] = _SMALL
        place.kafka.create(source.topic, 4)
        source.apply()
    for source in sources:
        source.reaches("Running", limit=600)
    quota = {"pods": str(CONNECTORS + ROOM)}
    place.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": quota}})
    with longest_waits(release) as waits:
        with ThreadPoolExecutor(8) as opening:
            list(opening.map(lambda source: opened(place, source), sources))
        executors_of_all(place, lambda found: len(found) == ROOM, f"{ROOM} executors run", 900)
        reasons = [has_them_or_says_why_not(source) for source in sources]
        assert reasons.count("QuotaExceeded") >= CONNECTORS - ROOM
        victim = next(s for s in sources if s.name == with_an_executor(place))
        victim.kill()
        victim.until(lambda c: task(c)["incarnation"] == 2 or None, "the killed task is replaced", 300)
        victim.reaches("Running", limit=300)
        opened(place, victim)
        # The quota is used up: executors must make room for the job and the task of another Connector.
        late = place.datagen("late", config={"count": 100, "rate": 100})
        late.reaches("Running", limit=300)
        place.kafka.values(late.topic, least=100, seconds=120)
        late.delete()
        for source in sources:
            delivered_once(place, source, COUNT, 1_500)
    for source in sources:
        found = source.reaches("Running", limit=120)
        assert task(found)["incarnation"] == (2 if source is victim else 1)
    executors_of_all(place, lambda found: not found, "executors go after the backlogs", 300)
    assert waits
    measured("the longest time for which a Connector waited for the operator", max(waits)[0])
    assert max(given for _, given in waits) < _PATIENT
