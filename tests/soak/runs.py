"""The runs of a world's connectors: `penstock run` as a user starts it, several at once where the plan races them.

One run stays, the others leave with exit code 3 when they find out: the one that prepared last, mostly the one that was
started last. How each ended is judged here (`Run.end_is_wrong`), by what was done to it.
"""

import json
import math
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from tests.integration.running import Processes, Running

from .invariants import Counters

__all__ = ["ConnectorRuns", "Run"]

_LOSSES: Final = 8
"""Kills of one run after which it is left alone: the pauses after losses grow to minutes."""
_LATELY: Final = 30.0
_READ: Final = ("source_task_source_record_poll_total", "sink_task_sink_record_read_total")
_WRITTEN: Final = ("source_task_source_record_write_total", "sink_task_sink_record_send_total")


@dataclass
class Run:
    """One `penstock run`.

    Attributes:
        running: its process.
        number: counted from 1.
        killed: parts of it that were killed: each costs a task one life.
        ended: it was asked to stop, killed as a whole, or has left and was judged.
        hurt: when something of it was killed last.
        tidied: what it left is gone.
        gave_up: it did not find Kafka for a minute, and left, as it is to.
        frozen: processes of it that stand still.
    """

    running: Running
    number: int
    killed: int = 0
    ended: bool = False
    hurt: float = -math.inf
    tidied: bool = False
    gave_up: bool = False
    frozen: list[psutil.Process] = field(default_factory=list)
    _at: int = 0
    _rest: bytes = b""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    @property
    def stood_lately(self) -> bool:
        """Whether it is there, or was until it was killed: one that left for its sake a moment ago did right."""
        return (self.alive and not self.ended) or time.monotonic() - self.hurt < _LATELY

    @property
    def alive(self) -> bool:
        """Whether its process is there."""
        return self.running.process.poll() is None

    def read_log(self) -> Iterator[str]:
        """Lines that are new; what they say of tasks is kept."""
        with self.running.log.open("rb") as log:
            log.seek(self._at)
            data = log.read()
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            with suppress(ValueError):
                entry = json.loads(text)
                if isinstance(entry, dict) and entry.get("event") == "task":
                    self.states[f"{entry['connector']}-{entry['task']}"] = entry
                    if entry.get("state") == "FAILED":
                        self.failed.append(str(entry.get("error")))
            yield text

    def parts(self, what: str) -> Sequence[psutil.Process]:
        """Processes of it: `task`, `worker`, `daemon`, `jvm`; none that stand still."""
        r = self.running
        of: dict[str, Callable[[], Sequence[psutil.Process]]] = {
            "task": r.tasks,
            "worker": r.workers,
            "daemon": r.daemons,
            "jvm": r.jvms,
        }
        frozen = {p.pid for p in self.frozen}
        return sorted((p for p in of[what]() if p.pid not in frozen), key=lambda p: p.pid)

    def thaw(self) -> None:
        """Let what stands still go on."""
        for p in self.frozen:
            with suppress(psutil.Error):
                p.resume()
        self.frozen.clear()

    def counters(self) -> dict[str, Counters]:
        """What each task says that it did, from its metrics."""
        found = {}
        for task, state in self.states.items():
            with suppress(OSError, KeyError):
                url = f"http://127.0.0.1:{state['metricsPort']}/metrics"
                with urllib.request.urlopen(url, timeout=30) as answer:
                    found[task] = _counters(answer.read().decode())
        return found

    def clients(self) -> dict[str, int]:
        """How many Kafka clients each of its processes has: librdkafka's main threads."""
        found = {}
        for p in self.running.tree():
            with suppress(OSError, psutil.Error):
                names = [thread.read_text() for thread in Path(f"/proc/{p.pid}/task").glob("*/comm")]
                found[f"{p.pid} {' '.join(p.cmdline())[-120:]}"] = sum(n.startswith("rdk:main") for n in names)
        return found

    def end_is_wrong(self, *, others: bool) -> str | None:
        """What is wrong with how it ended, when it has."""
        code = self.running.process.poll()
        if code is None or self.ended:
            return None
        if code == 3 and others:
            return None
        if code == 5 and "no answer within" in self.running.log_text():  # Kafka was away for a minute as it began
            self.gave_up = True
            return None
        return f"run {self.number} ended with exit code {code}, {'beside another' if others else 'and none is left'}"


class ConnectorRuns:
    """Starts, races, kills and ends the runs of a world's connectors.

    Args:
        processes: starts them.
        manifests: the connectors for a number of tasks.
        start: what `penstock run` is given besides: see `Processes.run`.
    """

    def __init__(
        self,
        processes: Processes,
        servers: str,
        manifests: Callable[[int], Sequence[Mapping[str, Any]]],
        *arguments: str,
        worker: Mapping[str, str],
        env: Mapping[str, str],
    ) -> None:
        self._processes = processes
        self._servers = servers
        self._manifests = manifests
        self._arguments = arguments
        self._worker = worker
        self._env = env
        self.runs: list[Run] = []
        self.tasks = 1

    @property
    def newest(self) -> Run:
        """The run that was started last of those that go on; of all when none does."""
        return next((r for r in reversed(self.runs) if r.alive and not r.ended), self.runs[-1])

    @property
    def alive(self) -> list[Run]:
        """Runs whose processes are there."""
        return [r for r in self.runs if r.alive]

    def __str__(self) -> str:
        """Those that are there, and how their tasks are."""
        told = [f"{r.number} with {', '.join(str(s.get('message')) for s in r.states.values())}" for r in self.alive]
        return "; ".join(told) or "none"

    def start(self, tasks: int | None = None) -> Run:
        """Another run, beside those that are there."""
        self.tasks = tasks or self.tasks
        running = self._processes.run(
            self._manifests(self.tasks), self._servers, *self._arguments, worker=self._worker, env=self._env
        )
        self.runs.append(Run(running, len(self.runs) + 1))
        return self.runs[-1]

    def look(self) -> list[str]:
        """Read the logs; what is wrong with how runs ended, and with their tasks."""
        wrong = []
        for run in self.runs:
            for _ in run.read_log():
                pass
            if run.failed:
                wrong.append(f"a task of run {run.number} has failed: {run.failed[0]}")
            told = run.end_is_wrong(
                others=any(r.number > run.number or r.stood_lately for r in self.runs if r is not run)
            )
            run.ended |= not run.alive
            if told:
                wrong.append(f"{told}\n{run.running.last_words()}")
        if self.runs and self.runs[-1].gave_up and not any(r.alive and not r.ended for r in self.runs):
            self.start()  # as whoever started it does
        return wrong

    def kill_part(self, what: str, choice: float) -> psutil.Process | None:
        """`kill -9` of one process of the newest run; which one it was."""
        run = self.newest
        found = run.parts(what)
        if not found or (what in ("task", "jvm") and run.killed >= _LOSSES):
            return None
        run.killed += what in ("task", "jvm")
        run.hurt = time.monotonic()
        victim = found[int(choice * len(found)) % len(found)]
        with suppress(psutil.Error):
            victim.kill()
        return victim

    def freeze_part(self, what: str, choice: float) -> Callable[[], None] | None:
        """SIGSTOP for one process of the newest run; what lets it go on."""
        run = self.newest
        found = run.parts(what)
        if not found:
            return None
        one = found[int(choice * len(found)) % len(found)]
        try:
            one.suspend()
        except psutil.Error:
            return None
        run.frozen.append(one)

        def go_on() -> None:
            with suppress(psutil.Error):
                one.resume()
            run.frozen[:] = [p for p in run.frozen if p.pid != one.pid]

        return go_on

    def kill_run(self, *, whole: bool) -> None:
        """`kill -9` of `penstock run`, or of all that it started too."""
        run = self.newest
        run.ended, run.hurt = True, time.monotonic()
        if whole:
            run.thaw()
            run.running.kill_all()
        else:
            run.running.process.send_signal(signal.SIGKILL)
            run.running.await_exit()

    def stop(self, run: Run | None = None) -> str | None:
        """Ask a run, the newest, to stop, and wait; what is wrong with that."""
        run = run or self.newest
        run.thaw()
        if not run.alive:
            return None
        run.ended = True
        run.running.terminate()
        begun = time.monotonic()
        code = run.running.await_exit()
        if code == -signal.SIGTERM and not run.running.log_text():  # before it had begun
            return None
        if code not in (0, 3):
            return f"run {run.number} ended with exit code {code} {time.monotonic() - begun:.0f} s after SIGTERM"
        return None

    def thaw(self) -> None:
        """Everything goes on."""
        for run in self.runs:
            run.thaw()


def _counters(text: str) -> Counters:
    numbers: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("kafka_connect_"):
            name, _, value = line.rpartition(" ")
            numbers[name.partition("{")[0].removeprefix("kafka_connect_")] = float(value)

    def of(*names: str) -> int:  # a task is of one kind, and has the numbers of that
        return int(sum(numbers.get(n, 0) for n in names))

    return Counters(
        of(*_READ), of(*_WRITTEN), of("task_error_total_record_errors_total"), of("task_records_dropped_total")
    )


def log_lines(run: Run) -> list[str]:
    """All of its log; the last line only when it is whole, if the process was killed."""
    text = Path(run.running.log).read_bytes().decode(errors="replace")
    return text.split("\n")[:-1]
