"""Looks for a case about which the two sides differ, and makes it as small as it can."""

from collections.abc import Collection
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.internal.constants_ast import Constants

from ..oracle import Oracle
from .comparison import Difference, difference
from .intended import is_intended
from .subjects import Subject

__all__ = ["Known", "is_known", "search"]

Known = Collection[tuple[frozenset[str], str]]
"""Signatures of differences that were found before."""


class _Fresh(HypothesisProvider):
    """Draws every case anew; Hypothesis's own way varies each random one five times, which finds little here.

    Nor does it draw from the constants of whatever source is loaded: the same seed gives the same cases, whoever else runs.
    """

    _local_constants = Constants()


AVAILABLE_PROVIDERS["fresh"] = _Fresh


class _Different(Exception):
    pass


def is_known(found: Difference, known: Known) -> bool:
    """Whether it seems to be one that was found before, perhaps among other plugins."""
    names, place = found.signature
    return any(place == known_place and names >= known_names for known_names, known_place in known)


def search(oracle: Oracle, subject: Subject, cases: int, number: int, known: Known = ()) -> Difference | None:
    """The smallest difference among so many random cases, or None.

    Args:
        oracle: Kafka Connect's side.
        subject: what to try.
        cases: how many.
        number: the seed; the same one gives the same cases.
        known: is passed over.
    """
    found: list[Difference] = []

    @seed(number)
    @settings(
        max_examples=cases,
        database=None,
        backend="fresh",
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
    @given(subject.cases)
    def agrees(case: Any) -> None:
        expected = oracle.answer(case)
        different = difference(case, expected)
        if different is None or is_known(different, known) or is_intended({**case, "expected": expected}):
            return
        # One defect is made small at a time: another that shows on the way is for the next search.
        if not found or different.place == found[0].place:
            found.append(different)
            raise _Different

    try:
        agrees()
    except (_Different, Flaky):
        return found[-1]
    return None
