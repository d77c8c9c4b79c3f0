"""`make fuzz`: many random cases of every plugin, each difference made small and told once.

make fuzz ARGS="--cases 5000 --seed 7 --only Cast,chains --keep"
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from ..oracle import Oracle
from .comparison import Difference, plugins
from .search import is_known, search
from .subjects import Subject, subjects

_KEPT: Final = Path(__file__).parents[1] / "cases" / "fuzzed.json"
_ROUND: Final = 250
_MOST: Final = 60
"""Differences after which there is no use in more."""


def _main() -> int:
    parser = argparse.ArgumentParser(
        prog="make fuzz", description="Compare Penstock with Kafka Connect on random cases."
    )
    parser.add_argument("--cases", type=int, default=20_000, help="how many (default: 20000)")
    parser.add_argument(
        "--seed", type=int, default=None, help="for the same cases again (default: another one each time)"
    )
    parser.add_argument("--only", default="", help="subjects, by their names, with commas between")
    parser.add_argument(
        "--keep", action="store_true", help=f"add what is found to {_KEPT.name}, expected as Kafka Connect says"
    )
    parser.add_argument("--json", type=Path, help="write what is found to this file as well")
    given = parser.parse_args()
    number = int(time.time()) if given.seed is None else given.seed
    chosen = _chosen(parser, given.only)
    print(f"{given.cases} cases of {len(chosen)} subjects, seed {number}", flush=True)
    with Oracle() as oracle:
        found = _rounds(oracle, chosen, given.cases, number)
    if given.json:
        given.json.write_text(json.dumps([_told(d) for d in found], indent=1))
    if given.keep and found:
        _keep(found)
    return 1 if found else 0


def _chosen(parser: argparse.ArgumentParser, only: str) -> list[Subject]:
    every = {subject.name: subject for subject in subjects()}
    names = [name.strip() for name in only.split(",")] if only else list(every)
    unknown = [name for name in names if name not in every]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(every)}")
    return [every[name] for name in names]


def _rounds(oracle: Oracle, chosen: list[Subject], cases: int, number: int) -> list[Difference]:
    """Each subject's part in rounds of a few hundred, so that one defect does not hide the next."""
    found: list[Difference] = []
    known: set[tuple[frozenset[str], str]] = set()
    whole = sum(s.weight for s in chosen)
    done = 0
    for subject in chosen:
        left = max(1, round(cases * subject.weight / whole))
        while left > 0 and len(found) < _MOST:
            size = min(_ROUND, left)
            left, done = left - size, done + size
            different = search(oracle, subject, size, number + done, known)
            if different is not None and not is_known(different, known):
                known.add(different.signature)
                found.append(different)
                print(f"\n{different.shown()}\n", flush=True)
        print(f"{done} of {cases}: {subject.name}; {len(found)} differences so far", flush=True)
    return found


def _told(found: Difference) -> dict[str, Any]:
    return {
        "plugins": sorted(plugins(found.case)),
        "place": found.place,
        "way": found.way,
        "record": found.record,
        "case": {**found.case, "expected": found.expected},
        "penstock": found.made,
    }


def _keep(found: list[Difference]) -> None:
    kept = json.loads(_KEPT.read_text()) if _KEPT.exists() else []
    for different in found:
        names = sorted(plugins(different.case))
        case = {
            "id": f"fuzzed-{len(kept) + 1:03}",
            "area": "converter" if "source" in different.case else "smt",
            "source": names[0] if len(names) == 1 else "Chain",
            "note": f"found by make fuzz: {different.place}",
        }
        kept.append({**case, **different.case, "expected": different.expected})
    _KEPT.write_text("[\n" + ",\n".join(json.dumps(c) for c in kept) + "\n]\n")
    print(f"{len(found)} added to {_KEPT}")


if __name__ == "__main__":
    sys.exit(_main())
