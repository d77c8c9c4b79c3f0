"""The tables of the pages say what the code says: properties and defaults, exit codes, options, metrics, conditions."""

import re
from typing import Any

import pytest

from penstock_model.connect.errors_config import ErrorsConfig
from penstock_model.contracts.exit_codes import ExitCode

from ..chart.rendering import names_in
from ..chart.test_monitoring import measured  # noqa: F401 (a fixture)
from ..cli.command import penstock
from .pages import ROOT, pages, table, text_of


def as_text(default: object) -> str:
    """A default as the pages have it."""
    return "none" if default == "" else str(default).lower()


def help_of(*words: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        return penstock(*words, "--help").stdout


def test_the_table_of_errors_properties_has_each_of_them_with_its_default() -> None:
    documented = {row[0]: row[1] for row in table("docs/errors.md", "**By default the first record")}
    assert documented == {p.name: as_text(p.default) for p in ErrorsConfig.properties()}


def test_the_table_of_exit_codes_has_those_that_penstock_run_ends_with() -> None:
    documented = {int(row[0]) for row in table("docs/running.md", "## Exit codes")}
    assert documented == set(ExitCode) - {ExitCode.LOST, ExitCode.STALLED}
    codes = help_of("run").partition("exit codes:")[2]
    assert {int(code) for code in re.findall(r"(\d+) [A-Za-z]", codes)} == documented


def test_the_table_of_options_has_each_option_of_penstock_run() -> None:
    documented = {row[0].split()[0] for row in table("docs/running.md", "## Options")}
    assert documented == set(re.findall(r"^  (--[a-z-]+)", help_of("run"), re.MULTILINE))


def test_each_metric_that_a_page_names_is_measured(measured: dict[str, Any]) -> None:  # noqa: F811
    packages = tuple(folder.name for folder in (*(ROOT / "runtime").iterdir(), *(ROOT / "operator").iterdir()))
    named = {
        name
        for page in pages()
        if page.startswith("docs/") and "decisions" not in page
        for name in names_in(text_of(page))
        if name not in (*packages, "penstock_offsets") and not name.startswith("kafka_connect_plugins_")  # plugins' own
    }
    source = (ROOT / "runtime/penstock_runtime/task/metrics.py").read_text()  # has one that needs a state
    assert len(named) > 8
    unknown = {name for name in named if not any(known.startswith(name) for known in measured)}
    assert {name for name in unknown if name.removeprefix("kafka_connect_") not in source} == set()
