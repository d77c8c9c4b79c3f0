"""Measures of the operator on a site (`operator_life/world/site.py`): many connectors, idle ones, one change."""

import re
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import psutil
from tests.integration.cluster_api.api import ApiRefused
from tests.integration.operator_life.world.processes import OperatorProcess
from tests.integration.operator_life.world.site import Site, is_settled
from tests.integration.operator_life.world.watched import Json

__all__ = [
    "Idle",
    "Many",
    "Restart",
    "change_to_action",
    "created",
    "idle",
    "p50",
    "removed",
    "restart",
    "rests",
    "scrape",
    "settled_all",
    "writes",
]

_SAMPLE: Final = re.compile(r"^(\w+)(?:\{([^}]*)\})? (\S+)$")
_WRITES: Final = frozenset(("create", "apply", "patch", "update", "delete"))
_BESIDE: Final = frozenset(("Lease", "Event"))
_REST: Final = 5.0
_PROBED: Final = 10.0
"""Seconds between two probes of the kubelet."""
_MB: Final = 1e6


@dataclass(frozen=True)
class Many:
    """How long it took until all were as asked, and what it cost.

    Attributes:
        count: connectors.
        seconds: from the first create to the last one settled.
        cpu: CPU seconds of the operator.
        memory: its resident memory at the end, MB.
        reconciles: runs.
        requests: to the API server, by the operator's own count.
    """

    count: int
    seconds: float
    cpu: float
    memory: float
    reconciles: int
    requests: int


@dataclass(frozen=True)
class Restart:
    """A restart: seconds until every connector was looked at, writes by then, CPU seconds, memory in MB."""

    seconds: float
    writes: int
    cpu: float
    memory: float


@dataclass(frozen=True)
class Idle:
    """An operator with nothing to do: its memory in MB, the share of a core, writes."""

    memory: float
    cpu: float
    writes: int


def samples(operator: OperatorProcess) -> list[tuple[str, Mapping[str, str], float]]:
    """What its metrics say."""
    found: list[tuple[str, Mapping[str, str], float]] = []
    for line in operator.metrics().splitlines():
        if (match := _SAMPLE.match(line)) is not None:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
            found.append((match[1], labels, float(match[3])))
    return found


def writes(operator: OperatorProcess) -> int:
    """Requests that change something, without its Lease and Events."""
    return int(
        sum(
            value
            for name, labels, value in samples(operator)
            if name == "penstock_operator_api_requests_total"
            and labels["verb"] in _WRITES
            and labels["kind"] not in _BESIDE
        )
    )


def _sum(operator: OperatorProcess, metric: str) -> int:
    return int(sum(value for name, _, value in samples(operator) if name == metric))


def _reconciles(operator: OperatorProcess) -> int:
    return _sum(operator, "penstock_operator_reconcile_seconds_count")


def _queue(operator: OperatorProcess) -> int:
    return int(
        sum(
            v
            for name, labels, v in samples(operator)
            if name == "penstock_operator_queue_keys" and labels["state"] in ("waiting", "running")
        )
    )


def created(site: Site, names: Sequence[str], **spec: Any) -> float:
    """Create connectors as fast as the API server takes them; when the first was asked for (monotonic)."""
    begun = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: site.create(name, **spec), names))
    return begun


def settled_all(
    site: Site, operator: OperatorProcess, names: Sequence[str], state: str, begun: float, limit: float
) -> Many:
    """Wait until all of them are as asked."""
    process = psutil.Process(operator.pid)
    left = [site.key(n) for n in reversed(names)]

    def claim(all_: Mapping[str, Any]) -> bool:
        while left and left[-1] in all_ and is_settled(all_[left[-1]], state):
            left.pop()
        return not left

    site.connectors.until(claim, f"{len(names)} connectors are {state}", limit)
    seconds = time.monotonic() - begun
    times = process.cpu_times()
    return Many(
        len(names),
        seconds,
        times.user + times.system,
        process.memory_info().rss / _MB,
        _reconciles(operator),
        _sum(operator, "penstock_operator_api_requests_total"),
    )


def restart(operator: OperatorProcess, count: int, limit: float) -> Restart:
    """Kill it, once it rests, and start it again: until each of so many was looked at and nothing waits any more."""
    rests(operator)
    operator.kill()
    operator.ended()
    begun = time.monotonic()
    operator.start()
    operator.until(  # seldom, because a page of metrics about so many costs the operator time itself
        lambda: _reconciles(operator) >= count and _queue(operator) == 0,
        f"{count} connectors are looked at",
        limit,
        pause=1.0,
    )
    seconds = time.monotonic() - begun
    process = psutil.Process(operator.pid)
    times = process.cpu_times()
    return Restart(seconds, writes(operator), times.user + times.system, process.memory_info().rss / _MB)


def scrape(operator: OperatorProcess) -> float:
    """Seconds for one page of metrics."""
    begun = time.monotonic()
    assert operator.metrics()
    return time.monotonic() - begun


def idle(operator: OperatorProcess, seconds: float) -> Idle:
    """Watch it do nothing, once it has come to rest."""
    rests(operator)
    process = psutil.Process(operator.pid)
    before, begun, written = process.cpu_times(), time.monotonic(), writes(operator)
    while time.monotonic() - begun < seconds:
        time.sleep(min(_PROBED, seconds))
        status, text = operator.probe("healthz")
        if status != 200:
            raise RuntimeError(f"the idle operator would have been restarted: {status} {text}")
    after, took = process.cpu_times(), time.monotonic() - begun
    used = after.user + after.system - before.user - before.system
    return Idle(process.memory_info().rss / _MB, used / took, writes(operator) - written)


def rests(operator: OperatorProcess, limit: float = 60.0) -> None:
    """Wait until it has written nothing for some seconds; tasks tell of their last steps a moment after they run."""
    end, written = time.monotonic() + limit, writes(operator)
    since = time.monotonic()
    while time.monotonic() - since < _REST:
        assert time.monotonic() < end, f"it writes on and on; {written} writes so far"
        time.sleep(0.25)
        if (now := writes(operator)) != written:
            written, since = now, time.monotonic()


def change_to_action(site: Site, name: str, times: int) -> list[float]:
    """Seconds from the answer to a change of the configuration to the short pod that plans it, sorted."""
    found = []
    for n in range(times):
        known = frozenset(_planned(site.kubelet.pods.objects, name))
        site.change(name, config={"file": f"/data/change-{n}-{time.time_ns()}"})
        begun = time.monotonic()
        _await_plan(site, name, known)
        found.append(time.monotonic() - begun)
        site.settled(name, seconds=120)
    return sorted(found)


def _await_plan(site: Site, name: str, known: Collection[str]) -> None:
    site.kubelet.pods.until(lambda pods: _planned(pods, name).difference(known), "a plan is made", 30)


def _planned(pods: Collection[str], name: str) -> set[str]:
    return {key for key in pods if f"/{name}-plan-" in key}


def annotation_to_result(site: Site, name: str, annotation: str, times: int) -> list[float]:
    """Seconds from the answer to an annotation that asks for an action on offsets to its result in the status, sorted."""
    found = []
    for n in range(times):
        token = f"{annotation[:1]}{n}"
        site.annotate(name, **{annotation: token})
        begun = time.monotonic()
        body = site.until(name, lambda b: _result(b, token) not in ("", "Pending"), f"{token} has its result")  # noqa: B023 (called at once)
        found.append(time.monotonic() - begun)
        assert _result(body, token) == "Succeeded", body["status"]["offsetsActions"][-1]
    return sorted(found)


def _result(body: Json, token: str) -> str:
    actions = (body.get("status") or {}).get("offsetsActions", ())
    return next((str(a["result"]) for a in actions if a["token"] == token), "")


def p50(figures: Sequence[float]) -> float:
    """The median."""
    return statistics.median(figures)


def removed(site: Site, names: Sequence[str]) -> float:
    """Delete them all; seconds until they and their pods are gone."""
    begun = time.monotonic()

    def delete(name: str) -> None:
        try:
            site.delete(name)
        except ApiRefused as e:
            if e.code != 404:
                raise

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(delete, names))
    keys = {site.key(n) for n in names}
    site.connectors.until(lambda all_: not keys & set(all_), "all are gone", 300)
    return time.monotonic() - begun
