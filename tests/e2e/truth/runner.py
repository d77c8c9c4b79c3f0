"""Inject faults, and measure when the cause is named, for how long Ready is True meanwhile, and when it works again."""

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from ..api import NotReached, Object
from ..cluster import Failed
from ..place import Place, condition
from .fault import Fault, Refused, Says, Scene, World

__all__ = ["Outcome", "run"]

_SIDE_BY_SIDE: Final = 12
_STARTS: Final = threading.Semaphore(4)
"""How many connectors start at once: twelve would wait for the processors of a small machine, and not for Penstock."""
_STEADY: Final = 60.0
"""The seconds for which Ready may be True while nothing moves."""
_SET_UP: Final = 180
_PATIENCE: Final = 1 if os.environ.get("PENSTOCK_TIMED") else 5
"""Factor for all limits. Only `make truth` measures seconds; other runs share the machine with other tests."""


@dataclass
class Outcome:
    """What came of a fault.

    Attributes:
        fault: the fault.
        named: seconds from the injection until the cause was named; None: it was not.
        ready: the most seconds at a stretch for which Ready was True while nothing moved.
        recovered: seconds from the removal until the connector worked again; None: it did not, or cannot.
        said: reason and message that named the cause.
        trouble: what went wrong apart from that.
        history: what the condition said, with seconds since the injection.
    """

    fault: Fault
    named: float | None = None
    ready: float = 0.0
    recovered: float | None = None
    said: str = ""
    trouble: str = ""
    history: list[str] = field(default_factory=list)

    @property
    def is_named_in_time(self) -> bool:
        """Whether the cause was named within the seconds allowed, after those for which it looked like work."""
        return self.named is not None and self.named - self.fault.bears <= self.fault.seconds * _PATIENCE

    @property
    def is_true(self) -> bool:
        """Whether Ready was not True for long while nothing moved."""
        return not self.fault.halts or self.ready - self.fault.bears <= _STEADY * _PATIENCE

    @property
    def has_recovered(self) -> bool:
        """Whether it worked again in time."""
        allowed = self.fault.recovery
        return allowed is None or (self.recovered is not None and self.recovered <= allowed * _PATIENCE)

    @property
    def problem(self) -> str:
        """What missed a goal; empty: nothing."""
        if self.trouble:
            return self.trouble
        late = f"{self.named:.0f} s" if self.named is not None else "never"
        if not self.is_named_in_time:
            limit = self.fault.seconds * _PATIENCE
            return f"the cause was named after {late}, {self.fault.says} was expected within {limit} s"
        if not self.is_true:
            return f"Ready was True for {self.ready:.0f} s while nothing moved"
        return "" if self.has_recovered else f"not working again within {(self.fault.recovery or 0) * _PATIENCE} s"


class _Recorder:
    """Watches an object from its construction on, and keeps each state with its time."""

    def __init__(self, scene: Scene, plural: str, name: str) -> None:
        self._states: list[tuple[float, Object]] = []
        self._changed = threading.Condition()
        self._closed = False
        api, namespace = scene.place.cluster.api, scene.place.namespace

        def watch() -> None:
            while not self._closed:
                try:
                    api.until(plural, namespace, name, self._keep, "the end", 600)
                except (NotReached, AssertionError, OSError, ValueError):
                    continue

        threading.Thread(target=watch, name=f"watch of {namespace}", daemon=True).start()

    def _keep(self, found: Object | None) -> bool:
        if found is not None:
            with self._changed:
                self._states.append((time.monotonic(), found))
                self._changed.notify_all()
        return self._closed

    def close(self) -> None:
        """End with the next state."""
        self._closed = True

    def first(self, since: float, claim: Callable[[Object], bool], limit: float) -> tuple[float, Object] | None:
        """The first state since then, or the one that held then, of which this is true, and its time; None: none came."""
        end, seen = time.monotonic() + limit, 0
        with self._changed:
            while True:
                for at, found in self._since(since)[seen:]:
                    if claim(found):
                        return max(at, since), found
                seen = len(self._since(since))
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)

    def longest(self, since: float, until: float, claim: Callable[[Object], bool]) -> float:
        """The most seconds at a stretch, between two times, for which this was true."""
        most, begun = 0.0, None
        for at, found in [*self._since(since), (until, {})]:
            moment = min(max(at, since), until)
            if claim(found):
                begun = moment if begun is None else begun
            elif begun is not None:
                most, begun = max(most, moment - begun), None
        return most

    def changes(self, since: float) -> list[str]:
        """What the conditions said, once for each change."""
        lines: list[str] = []
        last = ""
        for at, found in self._since(since):
            text = " | ".join(
                f"{c['type']}={c['status']} {c['reason']}: {c['message']}"
                for c in (found.get("status") or {}).get("conditions") or ()
                if c["type"] != "Reconciling" and c["reason"] != "NotStalled"
            )
            if text != last:
                lines.append(f"{at - since:7.1f} s  {text}")
                last = text
        return lines

    def _since(self, since: float) -> list[tuple[float, Object]]:
        before = [s for s in self._states if s[0] < since][-1:]
        return before + [s for s in self._states if s[0] >= since]


def run(faults: Sequence[Fault], world: World, tell: Callable[[Outcome], object]) -> dict[str, Outcome]:
    """Try faults: side by side those that disturb no other, then each of the others by itself.

    Args:
        faults: which.
        world: what they share.
        tell: is called with each outcome as it comes.
    """
    outcomes: dict[str, Outcome] = {}

    def tried(fault: Fault) -> None:
        outcomes[fault.name] = outcome = _tried(fault, world)
        tell(outcome)

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        list(pool.map(tried, [f for f in faults if not f.is_alone]))
    for fault in faults:
        if fault.is_alone:
            tried(fault)
    return outcomes


def _tried(fault: Fault, world: World) -> Outcome:
    outcome = Outcome(fault)
    try:
        namespace = world.namespaces(f"fault-{uuid.uuid4().hex[:6]}")
        with ExitStack() as ends:
            ends.callback(world.cluster.delete_namespaces, namespace)
            _measure(outcome, Scene(world, Place(world.cluster, world.kafka, namespace), ends))
    except Exception as e:  # noqa: BLE001 (the others continue, and this one's trouble is in the table)
        outcome.trouble = outcome.trouble or f"{type(e).__name__}: {str(e)[:3000]}"
    return outcome


def _measure(outcome: Outcome, scene: Scene) -> None:
    fault = outcome.fault
    with _STARTS if fault.runs else _nothing():
        scene.connector = fault.connector(scene)
        if fault.runs:
            scene.connector.apply()
            scene.connector.reaches("Running", _SET_UP)
            scene.connector.kubectl("wait", "--for=condition=Ready", f"pod/{scene.connector.pod()}", "--timeout=90s")
    if isinstance(fault.says, Refused):
        _measure_refusal(outcome, fault.says, scene)
        return
    says = fault.says
    other = says.plural != "connectors" or says.name
    recorder = _Recorder(scene, "connectors", scene.connector.name)
    named_by = _Recorder(scene, says.plural, says.name or scene.connector.name) if other else recorder
    try:
        with _nothing() if fault.runs else _STARTS:
            begun = time.monotonic()
            fault.inject(scene)
            limit = fault.bears + 2.0 * fault.seconds * _PATIENCE + 30
            naming = named_by.first(begun, says.holds, begun + limit - time.monotonic())
        if naming is not None:
            outcome.named = naming[0] - begun
            own = condition(naming[1], says.kind)
            outcome.said = f"{own['reason']}: {own['message']}".replace(scene.place.namespace, "shop")
        _watch(scene, fault.watched)
        removed = time.monotonic()
        outcome.ready = recorder.longest(begun, removed, _is_ready)
        if fault.recovery is None:
            return
        if fault.remove is not None:
            fault.remove(scene)
        since = removed if fault.remove is not None or naming is None else naming[0]
        limit = since + fault.recovery * _PATIENCE - time.monotonic()
        works = recorder.first(since, lambda found: _works(found) and not _still(says, found, other), max(limit, 1.0))
        outcome.recovered = None if works is None else works[0] - since
    finally:
        outcome.history = recorder.changes(begun)
        if other:
            outcome.history += ["", f"{says.plural} {says.name}:", *named_by.changes(begun)]
        recorder.close()
        named_by.close()


def _still(says: Says, found: Object, other: object) -> bool:
    return not other and says.holds(found)


def _measure_refusal(outcome: Outcome, refused: Refused, scene: Scene) -> None:
    """Of a command that must be refused: the connector runs before and afterwards."""
    begun = time.monotonic()
    try:
        outcome.fault.inject(scene)
    except Failed as e:
        outcome.history = [str(e)]
        if all(word in str(e) for word in refused.words):
            outcome.named = time.monotonic() - begun
            outcome.said = str(e).splitlines()[-1].replace(scene.place.namespace, "shop")
    begun = time.monotonic()
    if outcome.fault.remove is not None:
        outcome.fault.remove(scene)
    scene.connector.reaches("Running", (outcome.fault.recovery or _SET_UP) * _PATIENCE)
    outcome.recovered = time.monotonic() - begun


def _watch(scene: Scene, seconds: float) -> None:
    """Let time pass, for what comes meanwhile."""
    threading.Event().wait(seconds)


def _is_ready(found: Object) -> bool:
    return condition(found).get("status") == "True"


def _works(found: Object) -> bool:
    own, status = condition(found), found.get("status") or {}
    generation = found["metadata"]["generation"]
    is_current = status.get("observedGeneration", -1) >= generation
    return is_current and own.get("status") == "True" and own.get("reason") == "Running"


@contextmanager
def _nothing() -> Iterator[None]:
    yield
