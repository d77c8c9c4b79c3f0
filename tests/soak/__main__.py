"""`make soak`: worlds under adversaries, side by side, until the time is over or an invariant is broken.

python -m tests.soak --seconds 3600
python -m tests.soak --only file,numbers --seconds 300 --seed 7

Each round of a world is a process of its own with a seed of its own, told at its start; `--only WORLD --seed SEED --round
SECONDS --seconds SECONDS` runs one again. A line every ten seconds says how far all are. The exit code is 1 when something
broke, and then what broke, what was done last and where the logs are is printed; that round's folder stays.
"""

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import Final

from .rounds import WORLDS, Round
from .side_by_side import Soak

_FOLDER: Final = Path(__file__).parents[2] / "build" / "soak"


def _main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description="Adversaries, random and seeded.")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for how long (default: an hour)")
    parser.add_argument("--seed", type=int, help="of the first round; the others count up (default: from the clock)")
    parser.add_argument("--only", default="", help=f"worlds, with commas between: {', '.join(WORLDS)}")
    parser.add_argument("--round", type=float, default=75.0, help="seconds of actions in one round (default: 75)")
    parser.add_argument("--side-by-side", type=int, default=2, help="rounds at a time (default: 2)")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="for what they write")
    parser.add_argument("--alone", metavar="WORLD", help=argparse.SUPPRESS)  # one round, in this process
    given = parser.parse_args()
    if given.alone:
        return _alone(given.alone, given.seed, given.round, given.folder)
    worlds = [w.strip() for w in given.only.split(",")] if given.only else list(WORLDS)
    unknown = [w for w in worlds if w not in WORLDS]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(WORLDS)}")
    seed = int(time.time()) if given.seed is None else given.seed
    print(
        f"Worlds {', '.join(worlds)}; seed {seed}; {given.seconds:.0f} s in rounds of {given.round:.0f} s", flush=True
    )
    soak = Soak(worlds, seed=seed, seconds=given.seconds, round_=given.round, folder=given.folder)
    return soak.run(given.side_by_side)


def _alone(world: str, seed: int, seconds: float, folder: Path) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    made = Round(world, seed, seconds, folder)
    print(
        f"World {world}, seed {seed}, {len(made.steps)} actions in {seconds:.0f} s:",
        *made.steps,
        sep="\n  ",
        flush=True,
    )
    outcome = made.run()
    if outcome.broken:
        print(outcome.text(folder), flush=True)
        return 1
    print(f"{outcome.delivered} records, {outcome.actions} actions, all invariants hold", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
