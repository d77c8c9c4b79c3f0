"""Each fault's cause is named while it lasts, Ready is not True while nothing moves, and all is well afterwards."""

import pytest

from .fault import Fault
from .runner import Outcome
from .table import FAULTS

pytestmark = [pytest.mark.own_cluster, pytest.mark.timeout(5400)]


def row(fault: Fault) -> object:
    return pytest.param(fault, id=fault.name.replace(" ", "-"), marks=() if fault.is_quick else pytest.mark.slow)


@pytest.mark.parametrize("fault", [row(fault) for fault in FAULTS])
def test_cause_is_named_and_status_is_true(fault: Fault, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[fault.name]
    assert not outcome.problem, "\n".join([outcome.problem, *outcome.history])
