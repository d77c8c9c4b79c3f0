"""The lives of one task in pods: what the operator does, and what must not hurt when it does it at the wrong moment.

It stands in for `ConnectorRuns`: each run is one life. A life that was lost is followed by the next one; the plan also
starts lives beside those that are there, two with one number among them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.integration.journal import Journal
from tests.integration.lab import Lab
from tests.integration.machine_time import MachineTime
from tests.integration.pods import Pods, control
from tests.integration.running import Processes, next_life, specs

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_spec import TaskSpec

from .runs import ConnectorRuns, Run

__all__ = ["Lives"]

_OPERATOR = 2.0
"""Seconds of the machine after which the operator has noticed that a pod is gone."""


class Life(Run):
    """One pod."""

    _seen: int = 0
    _without_kafka: bool = False
    """A broker that is away for longer than a pod waits at its start ends the pod; the operator makes the next."""

    def read_log(self) -> Iterator[str]:
        """What it tells by its pipe is read here; its log is looked at in the end."""
        events = list(self.running.events)
        for event in events[self._seen :]:
            if event["event"] == "metrics":
                self.states.setdefault("0", {})["metricsPort"] = event["port"]
            elif event["event"] == "state":
                self.states.setdefault("0", {})["message"] = event["state"]
            elif event["event"] == "failed" and "cannot be reached" in str(event["message"]):
                self._without_kafka = True
            elif event["event"] == "failed" and not (self.killed and "Spark's JVM" in str(event["message"])):
                self.failed.append(str(event["message"]))
        self._seen = len(events)
        return iter(())

    def end_is_wrong(self, *, others: bool) -> str | None:
        """3 for one that was superseded; lost, when a part of it was killed."""
        code = self.running.process.poll()
        if code is None or self.ended or (self.killed and code in (-9, 4)) or (code == 3 and others):
            return None
        if self._without_kafka and code == ExitCode.UNAVAILABLE:
            return None
        return f"life {self.number} ended with exit code {code}, {'beside another' if others else 'and none is left'}"


class Lives(ConnectorRuns):
    """See the module."""

    def __init__(self, processes: Processes, servers: str, manifest: Mapping[str, Any], folder: Path) -> None:
        super().__init__(processes, servers, lambda _: [manifest], worker={}, env={})
        folder.mkdir()
        self._pods = Pods(Lab(servers, processes, Journal(folder / "journal")), folder)
        self._spec: TaskSpec = specs(manifest, servers)[0]
        self._generation = 1
        self._state = "Running"
        self._clock = MachineTime()
        self._missing_since: float | None = None

    def start(self, tasks: int | None = None) -> Run:
        """The next life, whatever those before do."""
        if self.runs:
            self._spec = next_life(self._spec)
        return self._start(self._spec)

    def start_twin(self) -> Run:
        """Another life with the number of the last."""
        return self._start(next_life(self._spec, self._spec.incarnation))

    def _start(self, spec: TaskSpec) -> Run:
        pod = self._pods.task(spec, generation=self._generation, state=self._state)
        self.runs.append(Life(pod.process, len(self.runs) + 1))
        return self.runs[-1]

    def tell(self, state: str) -> None:
        """Paused or Running, from now on, also for lives to come."""
        self._generation += 1
        self._state = state
        control(self._servers, self._spec.connector, self._generation, state)

    def look(self) -> list[str]:
        """As for runs; a life that is gone is followed by the next."""
        wrong = super().look()
        for run in self.runs:
            if not run.alive and not run.tidied:
                run.tidied = True
                run.running.kill_all()  # a pod ends with its task: what that had started ends too
        if any(r.alive and not r.ended for r in self.runs):
            self._missing_since = None
        elif self._missing_since is None:
            self._missing_since = self._clock()
        elif self._clock() - self._missing_since >= _OPERATOR:
            self._missing_since = None
            self.start()
        return wrong
