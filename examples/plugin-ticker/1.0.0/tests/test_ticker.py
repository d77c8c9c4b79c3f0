"""Tests of Ticker: the suite for sources, and the interval."""

from itertools import count

import pytest
from penstock_ticker import Ticker, TickerConfig, TickerSource, partition

from penstock import ConfigError, Limits, PollingSource
from penstock.testing import SourceSuite, parsed, run_source

LIMITS = Limits(1000, 1 << 20)


class Hurried(Ticker):
    """Ticker whose clock advances by an hour at each call, so that no test waits."""

    def source(self, config: TickerConfig) -> PollingSource:
        return TickerSource(config, clock=count(0.0, 3600.0).__next__)


class TestTicker(SourceSuite):
    plugin = Hurried
    properties = {"topic": "t"}  # noqa: RUF012
    endless = True
    batches = 5

    def test_it_counts(self) -> None:
        records = run_source(Hurried, {"topic": "ticks"}, max_batches=3)
        assert [(record.topic, record.value) for record in records] == [("ticks", {"tick": n}) for n in range(3)]

    def test_it_goes_on_from_its_offset(self) -> None:
        records = run_source(Hurried, self.properties, offsets={partition(0): {"next": 41}}, max_batches=2)
        assert [record.value["tick"] for record in records] == [41, 42]

    def test_each_task_has_a_counter_of_its_own(self) -> None:
        properties = {**self.properties, "counters": "4"}
        tasks = Ticker().task_configs(parsed(Ticker, properties), properties, 3)
        assert [t["counter"] for t in tasks] == ["0", "1", "2"]
        records = run_source(Hurried, tasks[2], offsets={partition(2): {"next": 7}}, max_batches=1)
        assert [(record.key, record.value["tick"]) for record in records] == [("2", 7)]

    def test_it_waits_for_the_interval_and_makes_up_for_nothing(self) -> None:
        now = 100.0
        source = TickerSource(parsed(Ticker, {"topic": "t", "interval.ms": "500"}), clock=lambda: now)
        source.start({})
        assert len(list(source.read({}, LIMITS))) == 1
        now = 100.4
        assert not list(source.read({}, LIMITS))
        now = 100.5
        assert len(list(source.read({}, LIMITS))) == 1
        now = 3700.0
        assert len(list(source.read({}, LIMITS))) == 1
        assert not list(source.read({}, LIMITS))

    @pytest.mark.parametrize("interval", ["0", "-5", "soon"])
    def test_an_interval_that_is_none_is_refused_by_its_name(self, interval: str) -> None:
        with pytest.raises(ConfigError, match=r"interval\.ms"):
            parsed(Ticker, {"topic": "t", "interval.ms": interval})
