"""The table of intended differences says what it must, and no more."""

import math
import re
from collections import Counter

import pytest

from penstock import Problem
from penstock_runtime.plugins.discovery import Plugins

from . import rules
from .case_files import FOLDER, OWN, every, group
from .differences import Row, read, row_of, rows

MOST = {"validation": 0.10}
MOST_ELSEWHERE = 0.02
own_cases = pytest.mark.skipif(FOLDER.resolve() != OWN.resolve(), reason="of our own cases only")


@own_cases
@pytest.mark.parametrize("row", [pytest.param(row, id=row.key) for row in rows()])
def test_a_row_names_a_case(row: Row) -> None:
    assert any(row.names(case) for case in every())


@pytest.mark.parametrize("row", [pytest.param(row, id=row.key) for row in rows()])
def test_a_row_knows_its_rule_or_its_cases(row: Row) -> None:
    ids = {case["id"] for case in every()}
    names = re.findall(r"`([^`]+)`", row.key)
    assert names
    assert FOLDER.resolve() != OWN.resolve() or {*names} <= rules.RULES.keys() | ids


def test_every_rule_is_reported() -> None:
    told = {name for row in rows() for name in re.findall(r"`([^`]+)`", row.key)}
    assert rules.RULES.keys() <= told


@own_cases
def test_few_cases_differ() -> None:
    total = Counter(group(case["area"]) for case in every())
    different = Counter(group(case["area"]) for case in every() if row_of(case) is not None)
    too_many = {a for a in different if different[a] > math.floor(MOST.get(a, MOST_ELSEWHERE) * total[a])}
    assert not too_many, {a: f"{different[a]} of {total[a]}" for a in too_many}


@pytest.mark.parametrize("page", ["", "## Conformance cases with different results\nNone.\n"])
def test_a_page_without_the_table_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="has no table"):
        read(page)


def test_every_installed_plugin_can_be_used() -> None:
    assert [found for found in Plugins.installed().every() if isinstance(found, Problem)] == []
