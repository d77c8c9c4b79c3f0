"""The table of outcomes, and the three totals that Penstock is held to."""

from collections.abc import Iterator, Sequence
from typing import Final

from .runner import Outcome

__all__ = ["lines"]

_GOAL: Final = 0.99
"""The share of faults whose cause is named in time."""


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One for each fault, then the totals."""
    width = max(len(o.fault.name) for o in outcomes)
    yield f"{'fault':<{width}}  named after  allowed  Ready=True  works after  allowed"
    for outcome in outcomes:
        fault = outcome.fault
        allowed = f"{fault.seconds}" if not fault.bears else f"{fault.bears}+{fault.seconds}"
        ready = _seconds(outcome.ready) if fault.halts else "it works"
        user = " by an edit" if fault.needs_user else ""
        again = "" if fault.recovery is None else f"{_seconds(outcome.recovered):>11}  {fault.recovery:>5} s{user}"
        yield (f"{fault.name:<{width}}  {_seconds(outcome.named):>11}  {allowed:>5} s  {ready:>10}  {again}")
        if outcome.problem:
            yield f"{'':<{width}}  {outcome.problem.splitlines()[0][:160]}"
    named = sum(o.is_named_in_time for o in outcomes)
    untrue = [o for o in outcomes if not o.is_true]
    alone = [o for o in outcomes if not o.fault.needs_user and o.fault.recovery is not None]
    recovered = sum(o.has_recovered for o in alone)
    yield ""
    yield f"{named} of {len(outcomes)} causes were named in time ({named / len(outcomes):.1%}; the goal is {_GOAL:.0%})"
    yield f"{len(untrue)} faults left Ready=True for more than 60 s while nothing moved (the goal is 0)"
    yield f"{recovered} of {len(alone)} connectors worked again without help (the goal is all)"


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"
