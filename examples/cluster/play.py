"""Script of the demo: records move, pods are killed, Spark delivers a backlog, a bad version is stopped, all is counted."""

import json
import sys
import time
from collections.abc import Callable

import yaml
from command import ROOT, Failed, Kube
from database import changed, events, journal
from scene import (
    BACKLOG,
    BACKLOG_TOPIC,
    CANARY,
    CHANGES,
    CHANGES_TOPIC,
    FILE,
    POLICY,
    SINK,
    SOURCE,
    TOPIC,
    Scene,
    count_lines,
    look,
    moved,
    table,
    topic_as_created,
)
from screen import Screen

sys.path.append(str(ROOT / "examples" / "shared"))
from events import counted as differences

__all__ = ["Play"]

PERIOD = 1.0  # seconds between two updates
TOLD = 2.0  # seconds between two lines about the records, without a terminal
CALM = 10.0  # seconds of records before the fault
PATIENCE = 180.0  # seconds for a start, or for a replacement
BACKLOG_FILE = ROOT / "examples" / "backlog" / "connector.yaml"
_BROKEN = '{"spec":{"version":"3.0.0"}}'
DRAIN = 60.0  # seconds to wait for the last record at the other end


class Play:
    """Shows the progress, kills pods, applies a backlog and a broken version, and counts.

    Args:
        kube: the cluster.
        screen: the output.
        seconds: duration from the first record at the other end, but at least until all steps are over; None until it is
            interrupted.
    """

    def __init__(self, kube: Kube, screen: Screen, seconds: float | None) -> None:
        self._kube, self._screen, self._seconds = kube, screen, seconds
        self._begun = time.monotonic()
        self._scene = Scene(self._begun)
        self._before = self._scene
        self._told = self._begun
        self._orders = 0
        """Number of orders of all backlogs; 0 until they are delivered."""

    def run(self) -> None:
        """Run all steps, and show the progress until the time is over.

        Raises:
            Failed: records do not move in time, at first or after a fault.
        """
        with self._screen.view() as self._show:
            moving = self._until("records come out", lambda s: s.lines.count > 0 and s.topic.records > 0)
            self._note(f"Records move: {SOURCE} -> topic {TOPIC} -> {SINK} -> {FILE}.")
            calm = CALM if self._seconds is None else min(CALM, self._seconds / 3)
            self._until(f"{SOURCE} runs", lambda s: s.at >= moving.at + calm and s.running(SOURCE))
            self._kill(SOURCE, lambda s: s.topic.records)
            self._backlog()
            if CANARY in self._scene.connectors:
                self._upgrade()
            if CHANGES in self._scene.connectors:
                self._until(f"changes come out of {CHANGES}", lambda s: s.events.records > 0 and s.running(CHANGES))
                self._kill(CHANGES, lambda s: s.events.records)
            while self._seconds is None or self._scene.at < moving.at + self._seconds:
                self._next()

    def count(self) -> bool:
        """Wait until the latest record has come out, print the count, and return whether it is right.

        Raises:
            Failed: the records cannot be counted.
        """
        sent = look(self._kube).topic
        if not sent.records:
            raise Failed("Stopped before any record moved: there is nothing to count.")
        end = time.monotonic() + DRAIN
        while (scene := look(self._kube)).lines.last < sent.last and time.monotonic() < end:
            time.sleep(PERIOD)
        if SINK not in scene.connectors:
            raise Failed(f"Connector {SINK} does not exist any more: its file cannot be counted.")
        pod, topic = scene.connectors[SINK].pod, scene.topic
        orders = count_lines(self._kube, pod)
        different = set(orders)
        absent = max(sent.last, *different) - min(different) + 1 - len(different) if orders else topic.records
        again = len(orders) - len(different)
        say = self._screen.say
        say("The count, while more orders are created:")
        say(
            f"  topic {TOPIC} (read_committed): {topic.records:,} records, {topic.missing} missing, "
            f"{topic.duplicated} duplicated"
        )
        say(f"  created by TopicCreationPolicy {POLICY}: {topic_as_created(self._kube, TOPIC)}")
        tickers = [c for c in scene.connectors.values() if c.plugin == "Ticker"]
        if tickers:
            versions = ", ".join(
                f"{c.name} runs {c.versions or 'not yet'}{f' ({c.pending})' if c.pending else ''}" for c in tickers
            )
            say(f"  plugin Ticker in several versions, each from its image: {versions}")
        say(f"  {FILE} in pod {pod}: {len(orders):,} lines, {absent} missing, {again} written again")
        say(f"  the last line: {scene.lines.text}", "dim")
        good = topic.missing == topic.duplicated == absent == 0
        if self._orders:
            history = scene.backlog
            say(
                f"  topic {BACKLOG_TOPIC}, of the backlog: {history.records:,} records, {history.missing} missing, "
                f"{history.duplicated} duplicated"
            )
            good &= history.missing == history.duplicated == 0 and history.records == self._orders
        if CHANGES in scene.connectors:
            changes = changed(self._kube)
            text, same = differences(journal(self._kube, changes), events(self._kube, CHANGES_TOPIC, changes)[:changes])
            say(f"  topic {CHANGES_TOPIC}, of Debezium's connector {CHANGES}: {text}")
            good &= same
        return good

    def _kill(self, name: str, records: Callable[[Scene], int]) -> None:
        """Kill the pod of a source, and wait until its topic gets new records."""
        pod = self._scene.connectors[name].pod
        command = ("delete", "pod", pod, "--namespace=demo", "--grace-period=0", "--force")
        self._note(f"Fault: kubectl {' '.join(command)}")
        killed = time.monotonic()
        self._kube.kubectl(*command)
        there = self._until(f"{pod} is replaced", lambda s: s.running(name) and s.connectors[name].pod != pod)
        self._note(f"{there.connectors[name].pod} replaces it, {there.at - killed:.0f} s after the kill.")
        again = self._until(f"records of {name} move again", lambda s: records(s) > records(there))
        self._note(f"Records move again, {again.at - killed:.0f} s after the kill. Ctrl-C ends the view and counts.")

    def _backlog(self) -> None:
        """Deliver a backlog, and show the start and the end of Spark."""
        manifest = yaml.safe_load(BACKLOG_FILE.read_text())
        config, size = manifest["spec"]["config"], manifest["spec"]["config"]["count"]
        by_name = f"--field-selector=metadata.name={BACKLOG}"
        for earlier in self._kube.list("connectors.penstock.dev", "--namespace=demo", by_name):
            config["count"] += earlier["spec"]["config"]["count"]
        self._note(
            f"A backlog, {size:,} orders: kubectl apply --namespace=demo --filename={BACKLOG_FILE.relative_to(ROOT)}"
        )
        arrived, before = time.monotonic(), self._scene.backlog.records
        self._kube.kubectl("apply", "--namespace=demo", "--filename=-", stdin=json.dumps(manifest))
        up = self._until("Spark starts", lambda s: s.workers)
        self._note(
            f"Spark starts in {up.connectors[BACKLOG].pod}, {up.at - arrived:.0f} s after the apply, with {up.workers} "
            f"workers; {up.backlog.records - before:,} orders are delivered without it."
        )
        there = self._until("the backlog is delivered", lambda s: s.backlog.records >= config["count"])
        self._orders = config["count"]
        rate = (there.backlog.records - up.backlog.records) / max(there.at - up.at, PERIOD)
        self._note(
            f"The backlog is delivered, {there.at - arrived:.0f} s after the apply; with Spark {rate:,.0f} a second."
        )
        self._until("Spark ends", lambda s: s.workers == 0)
        self._note("Spark stops after 10 s without a backlog (spec.spark.idleTimeout).")

    def _upgrade(self) -> None:
        """Set a version that fails, which only the first task gets."""
        self._until(f"{CANARY} runs", lambda s: s.running(CANARY))
        words = ("patch", "connector", CANARY, "--namespace=demo", "--type=merge", f"--patch={_BROKEN}")
        self._note(f"A version that fails: kubectl {' '.join(words)}")
        self._kube.kubectl(*words)
        there = self._until("its first task has failed", lambda s: s.connectors[CANARY].pending == "CanaryFailed")
        self._note(
            f"{CANARY}: the tasks run {there.connectors[CANARY].versions}, CanaryFailed: the others are not changed."
        )

    def _until(self, what: str, claim: Callable[[Scene], object]) -> Scene:
        end = time.monotonic() + PATIENCE
        while not claim(self._scene):
            connectors = self._scene.connectors.values()
            if time.monotonic() > end or any(c.stalled for c in connectors):
                waits = "A connector is stalled" if time.monotonic() < end else f"Timed out after {PATIENCE:.0f} s"
                reasons = [f"\n  {c.name}: {c.reason}: {c.message}" for c in connectors]
                raise Failed(
                    f"{waits}, waiting until {what}.{''.join(reasons)}\nSee: kubectl describe connectors "
                    "--namespace demo; kubectl logs --namespace penstock-system deployment/penstock-operator"
                )
            self._next()
        return self._scene

    def _next(self) -> None:
        time.sleep(max(0.0, self._scene.at + PERIOD - time.monotonic()))
        try:
            scene = look(self._kube)
        except Failed as e:  # the API server may be available again later; `_until` has a time limit
            self._note(str(e))
            self._scene = Scene(time.monotonic(), self._scene.connectors, self._scene.topic, self._scene.lines)
            return
        if self._screen.live:
            self._show(table(scene, self._scene))
        else:
            self._tell(scene)
        self._scene = scene

    def _tell(self, scene: Scene) -> None:
        for name, c in scene.connectors.items():
            if c != self._scene.connectors.get(name):
                why = f": {c.message}" if c.ready != "True" and c.message else ""
                self._note(
                    f"{name}  {c.state or 'new'}  tasks {c.tasks or '-'}  Ready={c.ready or '-'}  {c.reason}{why}"
                )
        if scene.topic.records and scene.at >= self._told + TOLD:
            self._note(moved(scene, self._before))
            if scene.lines.text:
                self._screen.say(f"{'':9} {scene.lines.text}", "dim")
            self._before, self._told = scene, scene.at

    def _note(self, text: str) -> None:
        self._screen.say(f"{time.monotonic() - self._begun:7.1f} s {text}")
