"""A round: one world, its plan carried out, everything settled, and the verdict."""

import json
import random
import shutil
import time
import traceback
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.integration.machine_time import Deadline, MachineTime

from . import invariants
from .chains import ChainWorld
from .full_disks import FullDiskWorld
from .made_anew import MadeAnewWorld
from .plan import Step, plan
from .sinks import SINKS
from .sources import SOURCES
from .world import Undo, World

__all__ = ["WORLDS", "Outcome", "Round"]

WORLDS: Final[Mapping[str, type[World]]] = {
    w.name: w for w in (*SOURCES, *SINKS, MadeAnewWorld, FullDiskWorld, ChainWorld)
}

_STILL: Final = 150.0
"""Seconds of the machine for which a world that nobody hinders may deliver nothing: more than any time-out of a client."""
_LEAVES: Final = 60.0
"""Seconds of the machine in which a run that was superseded has left: a task notices within ten."""
_TICK: Final = 0.05
_TOLD: Final = 2.0


@dataclass
class Outcome:
    """How a round ended.

    Attributes:
        broken: each breach of an invariant, in a sentence.
        done: what was done, with the time at which it was.
    """

    world: str
    seed: int
    seconds: float
    delivered: int = 0
    actions: int = 0
    broken: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def text(self, folder: Path) -> str:
        """All that is needed to look into it, and to run it again."""
        lines = [
            f"World {self.world} broke with seed {self.seed}:",
            *(f"  * {text}" for text in self.broken),
            "What was done last:",
            *(f"    {text}" for text in self.done[-25:]),
            f"Logs and data are in {folder}. Again:",
            f"  python -m tests.soak --only {self.world} --seed {self.seed} --seconds {self.seconds:.0f} --round "
            f"{self.seconds:.0f}",
        ]
        return "\n".join(lines)


class Round:
    """See the module.

    Args:
        world: its name.
        seed: seed of the plan, the load and the choices.
        seconds: for which things are done to it; it takes longer than that.
        folder: new; removed at the end when nothing is broken.
    """

    def __init__(self, world: str, seed: int, seconds: float, folder: Path) -> None:
        self._folder = folder
        self._seconds = seconds
        self.outcome = Outcome(world, seed, seconds)
        kind = WORLDS[world]
        self.steps = plan(seed, world, seconds, kind.actions)
        folder.mkdir(parents=True)
        self._world = kind(folder, random.Random(f"load of {world} {seed}"))
        self._undo: list[tuple[float, str, Undo]] = []
        self._standstill = invariants.Standstill(_STILL)
        self._clock = MachineTime()
        self._next_told = 0.0

    def run(self) -> Outcome:
        """All of it. Raises nothing: what goes wrong is in the outcome."""
        broken = self.outcome.broken
        try:
            self._world.begin()
            self._carry_out()
            if not broken:
                self._settle()
            broken += self._world.broken  # of its last actions
            if not broken:
                broken += self._world.check()
                broken += self._world.ends()
                broken += self._world.verdict()
        except Exception:  # noqa: BLE001 (whatever it is, it is told with the seed)
            broken.append(f"the round itself failed:\n{traceback.format_exc()}")
        finally:
            self.outcome.delivered = self._world.delivered if hasattr(self._world, "runs") else 0
            self._world.close()
        if not broken:
            shutil.rmtree(self._folder, ignore_errors=True)
        return self.outcome

    def _carry_out(self) -> None:
        begun = time.monotonic()
        waiting = deque(self.steps)
        while (now := time.monotonic() - begun) < self._seconds and not self.outcome.broken:
            self._undo_until(now)
            if waiting and waiting[0].at <= now:
                self._do(waiting.popleft(), now)
            else:
                self._look(load=True)
        self._undo_until(float("inf"))
        self._world.ease()

    def _settle(self) -> None:
        self._note("everything is to settle")
        while not self._world.settled() and not self.outcome.broken:
            self._look(load=False)
        leaves = Deadline(_LEAVES)
        while not 1 <= len(self._world.runs.alive) <= self._world.most_runs and not self.outcome.broken:
            self._look(load=False, work=False)
            if leaves.passed():
                self.outcome.broken.append(
                    f"{_LEAVES:.0f} s later there are more than {self._world.most_runs} runs, or none: {self._world.runs}"
                )

    def _do(self, step: Step, now: float) -> None:
        self._note(str(step))
        undo = self._world.do(step)
        self.outcome.actions += 1
        if undo is not None:
            self._undo.append((now + step.lasts, step.action, undo))

    def _undo_until(self, now: float) -> None:
        for entry in sorted(self._undo, key=lambda e: e[0]):
            if entry[0] <= now:
                self._undo.remove(entry)
                self._note(f"no longer: {entry[1]}")
                entry[2]()

    def _look(self, *, load: bool, work: bool = True) -> None:
        world = self._world
        if load:
            world.load()
        world.look()
        broken = [*world.broken, *world.runs.look(), *world.check()]
        now = invariants.Sample(
            self._clock(),
            world.delivered,
            work=work and (not load or world.delivered < world.sent),
            hindered=world.hindered,
        )
        still = self._standstill.take(now)
        if still:
            broken.append(f"{still[0]}; runs that are there: {world.runs}\n{world.runs.newest.running.last_words()}")
        self.outcome.broken += broken
        if time.monotonic() >= self._next_told:
            self._next_told = time.monotonic() + _TOLD
            self._tell()
        time.sleep(_TICK)

    def _note(self, text: str) -> None:
        stamp = time.strftime("%H:%M:%S", time.gmtime())
        self.outcome.done.append(f"{stamp} {self._world.delivered:8} of {self._world.sent:8} | {text}")

    def _tell(self) -> None:
        told = {
            "delivered": self._world.delivered,
            "sent": self._world.sent,
            "actions": self.outcome.actions,
            "last": self.outcome.done[-1] if self.outcome.done else "",
        }
        new = self._folder / "progress.new"
        new.write_text(json.dumps(told))
        new.rename(self._folder / "progress.json")
