"""Each fault's cause is named while it lasts, Ready is not True while nothing moves, and the connector works afterwards."""

from collections.abc import Iterator

import pytest

from .fault import Fault
from .runner import Outcome
from .table import GROUPS

pytestmark = [pytest.mark.own_cluster, pytest.mark.timeout(5400)]


def rows() -> Iterator[object]:
    for title, faults in GROUPS.items():
        group = title.lower().replace(" ", "-")
        for fault in faults:
            marks = () if fault.is_quick else pytest.mark.slow
            yield pytest.param(fault, id=f"{group}/{fault.name}".replace(" ", "-"), marks=marks)


@pytest.mark.parametrize("fault", [*rows()])
def test_cause_is_named_and_status_is_true(fault: Fault, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[fault.name]
    assert not outcome.problem, "\n".join([outcome.problem, *outcome.history])
