"""What the console makes of resources and figures."""

import pytest

from penstock_web.console.connector_list import row_of
from penstock_web.console.health import Tone, health_of
from penstock_web.console.measurements import figures_of, series_of
from penstock_web.console.numbers_text import compact, rate_text
from penstock_web.console.plot import HEIGHT, WIDTH, plot_of
from penstock_web.source import Measurement

from .shop import connector


@pytest.mark.parametrize(
    ("document", "label", "tone"),
    [
        (connector("a"), "Running", Tone.GOOD),
        (connector("a", "Failed", reason="TasksFailed"), "Failed", Tone.BAD),
        (connector("a", "Pending", reason="ConfigInvalid", stalled=True), "Stalled", Tone.BAD),
        (connector("a", "Degraded", reason="TasksFailed"), "Degraded", Tone.WARN),
        (connector("a", reason="Hindered"), "Hindered", Tone.WARN),
        (connector("a", reason="Restarting"), "Running", Tone.GOOD),
        (connector("a", "Pending", reason="Starting"), "Pending", Tone.BUSY),
        (connector("a", "Paused"), "Paused", Tone.IDLE),
        ({"metadata": {"name": "new"}, "spec": {}}, "Pending", Tone.BUSY),
    ],
)
def test_a_problem_is_named_before_the_state(document: dict[str, object], label: str, tone: Tone) -> None:
    assert health_of(document)[1:3] == (label, tone)


def test_a_sink_whose_lag_grows_needs_attention_although_it_runs() -> None:
    document = connector("a")
    document["status"]["conditions"].append({"type": "Lagging", "status": "True", "message": "the lag grows"})
    assert health_of(document) == (4, "Lagging", Tone.WARN, "the lag grows")


def test_a_long_cause_is_shortened_in_the_list() -> None:
    row = row_of(connector("a", "Failed", reason="TasksFailed", message="x" * 1000), ())
    assert len(row.cause) == 301


def test_figures_are_sums_of_the_tasks_that_report() -> None:
    history = [
        Measurement(0, 0, 5, 10),
        Measurement(1000, 0, 7, 20),
        Measurement(1010, 1, 3, None),
        Measurement(500, 2, 99, 9),
    ]
    assert figures_of(history) == (10, 20)
    assert figures_of(()) == (None, None)


def test_a_task_that_reports_later_in_a_minute_counts_in_it() -> None:
    history = [Measurement(60 * n + 10 * task, task, 1, 2) for n in range(3) for task in range(2)]
    assert series_of(history).rates == ((0, 2), (60, 2), (120, 2))
    assert series_of(history).lags == ((0, 4.0), (60, 4.0), (120, 4.0))


def test_a_plot_lies_within_its_frame_and_says_its_values() -> None:
    plot = plot_of([(60.0 * n, float(n)) for n in range(60)], "Lag", is_rate=False)
    assert plot is not None
    places = [tuple(map(float, p.split(","))) for p in plot.line.removeprefix("M").split("L")]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert len(places) == 60
    assert plot.summary == "Lag in the last hour: now 59, lowest 0, highest 59"
    assert (plot.top, plot.half) == ("60", "30")


def test_a_plot_has_a_gap_while_nothing_was_measured() -> None:
    plot = plot_of([(0.0, 1.0), (60.0, 1.0), (600.0, 1.0), (660.0, 1.0)], "Lag", is_rate=False)
    assert plot is not None
    assert plot.line.count("M") == 2


def test_one_measurement_and_none_are_plots_too() -> None:
    assert plot_of([], "Lag", is_rate=False) is None
    plot = plot_of([(0.0, 0.0)], "Lag", is_rate=False)
    assert plot is not None
    assert plot.last == (WIDTH, HEIGHT)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (9999, "9,999"), (12_345, "12k"), (1_250_000, "1.2M"), (3e9, "3.0G")]
)
def test_large_numbers_are_short(number: float, text: str) -> None:
    assert compact(number) == text


def test_few_records_have_a_decimal_place() -> None:
    assert [rate_text(r) for r in (0, 0.41, 9.96, 10.4)] == ["0", "0.4", "10.0", "10"]
