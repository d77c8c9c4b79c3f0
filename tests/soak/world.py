"""A world: a broker of its own, connectors, who writes to them and what they write to; and what may be done to it.

A world is stepped by `rounds.Round`: `begin`, then again and again `load` and `do` what the plan says, then `settle`,
then `verdict`. Its actions are methods named `do_<action>`; one that lasts returns what undoes it.
"""

import os
import random
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tests.integration.machine_time import Deadline
from tests.integration.running import Processes, new_name

from penstock_cli.embedded import EmbeddedKafka

from . import invariants
from .plan import Action, Step
from .runs import ConnectorRuns, log_lines

__all__ = ["ACCEPTED", "BROKER", "RUNS", "SPARK", "WORKER", "Undo", "World", "alter"]

Undo = Callable[[], None]

SECRET: Final = "tr0ub4dor-and-3"
_GONE: Final = 20.0
"""Seconds of the machine after which what belongs to a run that was killed has noticed."""

WORKER: Final = {"offset.storage.replication.factor": "1", "status.storage.replication.factor": "1"}
BROKER: Final = (
    Action("broker stopped", lasts=(2, 12)),
    Action("broker killed", lasts=(1, 8)),
    Action("broker frozen", lasts=(2, 20)),
)
RUNS: Final = (
    Action("task killed", 2),
    Action("task frozen", lasts=(1, 25)),
    Action("run killed"),
    Action("all killed"),
    Action("stopped and started"),
)
SPARK: Final = (
    Action("worker killed", 2),
    Action("worker frozen", lasts=(1, 25)),
    Action("daemon killed"),
    Action("jvm killed"),
)
ACCEPTED: Final[tuple[str, ...]] = ()
"""Texts of log lines that are wrong and known, each with its issue."""


class World(ABC):
    """See the module. A subclass says what is in it.

    Args:
        folder: of its own.
        chance: follows from the seed.
    """

    name: ClassVar[str]
    actions: ClassVar[tuple[Action, ...]]
    others_write: ClassVar = False
    """Into the logs of the tasks."""
    most_runs: ClassVar = 1
    """That stay in the end: of several connectors each may."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self.broker = EmbeddedKafka(folder / "kafka")
        self.temporary = folder / "temporary"
        self.secrets = folder / "secrets"
        for made in (self.temporary, self.secrets / "outside", folder / "processes"):
            made.mkdir(parents=True)
        (self.secrets / "outside" / "password").write_text(SECRET)
        self.processes = Processes(folder / "processes")
        self.connector = new_name(self.name)
        self.broken: list[str] = []
        self._hindrances: list[str] = []

    # What a world is

    @abstractmethod
    def prepare(self) -> None:
        """Topics, files, what the connector finds at its start. The broker runs."""

    @abstractmethod
    def manifest(self, tasks: int) -> Mapping[str, Any]:
        """The connector."""

    def manifests(self, tasks: int) -> Sequence[Mapping[str, Any]]:
        """All connectors, where a world has several."""
        return [self.manifest(tasks)]

    @abstractmethod
    def load(self) -> None:
        """Write some more, when it is time. Called often, returns at once."""

    @abstractmethod
    def look(self) -> None:
        """Take in what has been delivered. Called often; raises nothing when the broker is away."""

    @property
    @abstractmethod
    def sent(self) -> int:
        """How many records are to be delivered."""

    @property
    @abstractmethod
    def delivered(self) -> int:
        """How many different ones are known to be."""

    @abstractmethod
    def verdict(self) -> list[str]:
        """What is wrong with the records, once all has ended but the broker."""

    def check(self) -> list[str]:
        """What can be looked at while everything runs, now and then."""
        return []

    def settled(self) -> bool:
        """Whether everything is delivered, and told."""
        return self.delivered >= self.sent

    # Its life

    def begin(self) -> None:
        """Start the broker and the connector."""
        self.broker.start()
        self.prepare()
        self.runs = self.connected()
        self.runs.start()

    def connected(self) -> ConnectorRuns:
        """Whoever runs the connector."""
        return self.runs_with(WORKER)

    def runs_with(self, worker: Mapping[str, str]) -> ConnectorRuns:
        """Runs with such a worker configuration."""
        return ConnectorRuns(
            self.processes,
            self.broker.bootstrap_servers,
            self.manifests,
            "--secrets",
            str(self.secrets),
            worker=worker,
            env={"TMPDIR": str(self.temporary)},
        )

    @property
    def hindered(self) -> bool:
        """Whether something that was done to it goes on."""
        return bool(self._hindrances)

    @property
    def hindered_at_kafka(self) -> bool:
        """Whether that is something with the broker, which may not answer."""
        return any(action.startswith("broker") for action in self._hindrances)

    def do(self, step: Step) -> Undo | None:
        """What a step says; what undoes it."""
        done = getattr(self, "do_" + step.action.replace(" ", "_"))(step)
        if done is None:
            return None
        self._hindrances.append(step.action)

        def undo() -> None:
            self._hindrances.remove(step.action)
            done()

        return undo

    def ease(self) -> None:
        """After the last action: everything that was done is undone, and the connector runs."""
        self.runs.thaw()
        self.broker_back()
        if not self.runs.newest.alive:
            self.runs.start()

    @property
    def groups(self) -> set[str]:
        """Consumer groups that there may be in the end."""
        return set()

    def ends(self) -> list[str]:
        """End every run as a user does; what is wrong with that, with what is left, with the logs."""
        wrong: list[str] = []
        is_clean = True
        for run in self.runs.alive:
            wrong += [text for task, c in run.counters().items() for text in invariants.counters_agree(task, c)]
            wrong += invariants.clients_are_closed(run.clients())
        for run in self.runs.alive:
            told = self.runs.stop(run)
            if told is not None:
                wrong.append(f"{told}\n{run.running.last_words()}")
                is_clean = False
        gone = Deadline(_GONE)
        while self._left() and not gone.passed():
            time.sleep(0.2)
        wrong += invariants.nothing_left(self._left(), self.temporary_files() if is_clean else [])
        wrong += invariants.groups_are_ours(_groups(self.broker.bootstrap_servers), self.groups)
        for run in self.runs.runs:
            wrong += [
                f"{text} (run {run.number}, {run.running.log})"
                for text in invariants.logs_are_clean(
                    log_lines(run), [SECRET], accepted=ACCEPTED, others_write=self.others_write
                )
            ]
        return wrong

    def close(self) -> None:
        """End all that is still there, also where it never began."""
        if hasattr(self, "runs"):
            self.runs.thaw()
        self.processes.end()
        self.broker.kill()

    def _left(self) -> list[str]:
        found = [p for run in self.runs.runs for p in run.running.tree()]
        told = []
        for p in found:
            with suppress(Exception):
                told.append(f"{p.pid} {p.status()} {' '.join(p.cmdline())[:150]}")
        return told

    def temporary_files(self) -> list[str]:
        """What lies in the temporary folder."""
        return [str(p.relative_to(self.temporary)) for p in sorted(self.temporary.rglob("*"))][:20]

    # What is done to a run

    def do_task_killed(self, step: Step) -> None:
        self.runs.kill_part("task", step.choice)

    def do_worker_killed(self, step: Step) -> None:
        self.runs.kill_part("worker", step.choice)

    def do_daemon_killed(self, step: Step) -> None:
        self.runs.kill_part("daemon", step.choice)

    def do_jvm_killed(self, step: Step) -> None:
        self.runs.kill_part("jvm", step.choice)

    def do_task_frozen(self, step: Step) -> Undo | None:
        return self.runs.freeze_part("task", step.choice)

    def do_worker_frozen(self, step: Step) -> Undo | None:
        return self.runs.freeze_part("worker", step.choice)

    def do_run_killed(self, step: Step) -> None:
        """Its tasks live on for a moment, beside those of the next run."""
        self.runs.kill_run(whole=False)
        self.runs.start()

    def do_all_killed(self, step: Step) -> None:
        self.runs.kill_run(whole=True)
        self.runs.start()

    def do_second_run(self, step: Step) -> None:
        """Beside the first, which has to leave."""
        self.runs.start()

    def do_frozen_and_superseded(self, step: Step) -> Undo | None:
        """A task stands still while another run takes over, and goes on later."""
        undo = self.runs.freeze_part("task", step.choice)
        self.runs.start()
        return undo

    def do_stopped_and_started(self, step: Step) -> None:
        self._stop()
        self.runs.start()

    def do_other_tasks(self, step: Step) -> None:
        """Stopped, and started with another `tasksMax`."""
        self._stop()
        self.runs.start(1 + int(step.choice * 4) % 4)

    def do_other_tasks_beside(self, step: Step) -> None:
        """A run with another `tasksMax` takes over from one that runs."""
        self.runs.start(1 + int(step.choice * 4) % 4)

    def _stop(self) -> None:
        newest = self.runs.newest
        told = self.runs.stop()
        if told is not None:
            self.broken.append(f"{told}\n{newest.running.last_words()}")

    # What is done to the broker

    def broker_back(self) -> None:
        """Start it or let it go on, whatever was done to it."""
        self.broker.start()
        if (pid := self.broker.pid) is not None:
            os.kill(pid, signal.SIGCONT)

    def do_broker_stopped(self, step: Step) -> Undo:
        self.broker.stop()
        return self.broker.start

    def do_broker_killed(self, step: Step) -> Undo:
        self.broker.kill()
        return self.broker.start

    def do_broker_frozen(self, step: Step) -> Undo | None:
        pid = self.broker.pid
        if pid is None:
            return None
        os.kill(pid, signal.SIGSTOP)

        def go_on() -> None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

        return go_on


def _groups(servers: str) -> dict[str, int]:
    """Every consumer group, and how many members it has."""
    admin = AdminClient({"bootstrap.servers": servers})
    names = [g.group_id for g in admin.list_consumer_groups(request_timeout=30).result().valid]
    if not names:
        return {}
    return {n: len(found.result().members) for n, found in admin.describe_consumer_groups(names).items()}


def alter(servers: str, topic: str, name: str, value: str) -> None:
    """Set a property of a topic."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": servers})  # its end would end the request
    admin.incremental_alter_configs([resource])[resource].result(120)
