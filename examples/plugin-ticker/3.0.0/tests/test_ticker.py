"""Version 3.0.0 is broken, and splits into the same tasks as 2.0.0, so that only the first task fails."""

import pytest
from penstock_ticker import Ticker

from penstock.testing import parsed, run_source

PROPERTIES = {"topic": "t", "counters": "3"}


def test_it_fails_at_its_first_record() -> None:
    with pytest.raises(Exception, match=r"version 3\.0\.0 is broken"):
        run_source(Ticker, PROPERTIES, max_batches=1)


def test_its_tasks_read_what_those_of_the_version_before_read() -> None:
    tasks = Ticker().task_configs(parsed(Ticker, PROPERTIES), PROPERTIES, 3)
    assert [t["counter"] for t in tasks] == ["0", "1", "2"]
