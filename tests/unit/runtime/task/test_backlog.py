"""The exported backlog of a source task is current or absent."""

from datetime import timedelta
from decimal import Decimal
from typing import Any, cast

import pytest

from penstock.source import Backlog
from penstock_runtime.task.backlog_gauges import BacklogGauges

PREFIX = "penstock_source_task_backlog_"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def exported(gauges: BacklogGauges) -> dict[str, float]:
    return {s.name.removeprefix(PREFIX): s.value for metric in gauges.collect() for s in metric.samples}


def test_backlog_is_exported_in_known_units_until_it_is_a_minute_old() -> None:
    clock = Clock()
    gauges = BacklogGauges({"connector": "c", "task": "0"}, clock)
    assert exported(gauges) == {}
    gauges.report(Backlog(bytes=70))
    clock.now += 59
    assert exported(gauges) == {"bytes": 70, "age_seconds": 59}
    clock.now += 1
    assert exported(gauges) == {"age_seconds": 60}
    gauges.report(Backlog(records=3, seconds=1.5))
    assert exported(gauges) == {"records": 3, "seconds": 1.5, "age_seconds": 0}


@pytest.mark.parametrize("wrong", [timedelta(seconds=3), Decimal(3), "3", True])
def test_a_value_that_is_not_a_number_leaves_the_other_metrics_as_they_are(wrong: object) -> None:
    gauges = BacklogGauges({"connector": "c", "task": "0"}, Clock())
    gauges.report(Backlog(records=1, seconds=cast("Any", wrong)))
    assert exported(gauges) == {}
    gauges.report(Backlog(records=2))
    gauges.report(Backlog(records=cast("Any", wrong)))
    assert exported(gauges) == {"records": 2, "age_seconds": 0}
