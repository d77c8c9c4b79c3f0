"""Rounds of several worlds as processes, some at a time."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["Alone", "Soak"]

_TOLD: Final = 10.0
_ROOT: Final = Path(__file__).parents[2]
_SLACK: Final = 1800.0
"""Seconds beyond a round's own, on a machine that is full, after which its process is taken to hang."""


class Alone:
    """One round in a process of its own."""

    def __init__(self, world: str, seed: int, seconds: float, folder: Path) -> None:
        self.world = world
        self.seed = seed
        self.folder = folder / f"{world}-{seed}"
        shutil.rmtree(self.folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{world}-{seed}.log"
        self._latest = time.monotonic() + seconds + _SLACK
        command = ["--alone", world, "--seed", f"{seed}", "--round", f"{seconds}", "--folder", f"{self.folder}"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.soak", *command],
                cwd=_ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        if self._process.poll() is None and time.monotonic() > self._latest:
            self.end()
            return 1
        return self._process.poll()

    def wait(self) -> int:
        """Its exit code."""
        while self.code is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        return self.code or 0

    def end(self) -> None:
        """End it, as Ctrl-C does: it ends what it has started."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        self._process.kill()
        self._process.wait()

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is."""
        with suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads((self.folder / "progress.json").read_text())
            return found
        return {}

    def text(self) -> str:
        """What it said."""
        return self.log.read_text(errors="replace")


@dataclass
class Soak:
    """Rounds of worlds until the time is over; the world that had the fewest is next.

    Attributes:
        seed: seed of the first round; each round has the next number.
        seconds: no round begins that would not be over by then, but for the first of each world.
        round_: seconds of actions in a round.
    """

    worlds: Sequence[str]
    seed: int
    seconds: float
    round_: float
    folder: Path
    _rounds: dict[str, int] = field(default_factory=dict)
    _records: int = 0
    _actions: int = 0
    _failed: list[str] = field(default_factory=list)

    def run(self, side_by_side: int) -> int:
        """The exit code."""
        self._rounds = dict.fromkeys(self.worlds, 0)
        begun, told, number = time.monotonic(), time.monotonic(), 0
        running: list[Alone] = []
        try:
            while True:
                left = begun + self.seconds - time.monotonic()
                first = any(n == 0 for n in self._rounds.values())
                while len(running) < side_by_side and (left > min(20.0, self.round_) or first):
                    running.append(self._next(number, min(self.round_, max(20.0, left))))
                    number += 1
                    first = any(n == 0 for n in self._rounds.values())
                    left = begun + self.seconds - time.monotonic()
                if not running:
                    break
                for one in [r for r in running if r.code is not None]:
                    running.remove(one)
                    self._ended(one)
                if time.monotonic() >= told:
                    told = time.monotonic() + _TOLD
                    self._tell(time.monotonic() - begun, running)
                time.sleep(0.2)
        finally:
            for one in running:
                one.end()
        total = sum(self._rounds.values())
        print(
            f"{total} rounds of {len(self.worlds)} worlds: {self._actions} actions, {self._records} records.\n"
            f"{total - len(self._failed)} passed, {len(self._failed)} failed"
            + "".join(f"\n  {text}" for text in self._failed),
            flush=True,
        )
        return 1 if self._failed else 0

    def _next(self, number: int, seconds: float) -> Alone:
        world = min(self.worlds, key=lambda w: self._rounds[w])
        self._rounds[world] += 1
        return Alone(world, self.seed + number, seconds, self.folder)

    def _ended(self, one: Alone) -> None:
        words = one.text()
        last = words.strip().rpartition("\n")[2]
        if one.code == 0:
            numbers = [int(w) for w in last.split() if w.isdigit()]
            self._records += numbers[0]
            self._actions += numbers[1]
            print(f"--- {one.world}, seed {one.seed}: {last}", flush=True)
        else:
            self._failed.append(f"{one.world}, seed {one.seed}: {one.log}")
            print(f"--- {one.world}, seed {one.seed} FAILED:\n{words}", flush=True)

    def _tell(self, at: float, running: Sequence[Alone]) -> None:
        parts = []
        for one in running:
            p = one.progress
            parts.append(f"{one.world} {p.get('delivered', 0)}/{p.get('sent', 0)}, {p.get('actions', 0)} actions")
        print(f"{at:7.0f} s  {'; '.join(parts)}", flush=True)
