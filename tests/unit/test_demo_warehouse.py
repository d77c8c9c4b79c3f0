"""Whether the warehouse holds what the shop has: examples/shared/comparison.py."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "examples" / "shared" / "comparison.py"
TABLE = [(1, "Ada"), (2, "Grace"), (3, "Edsger")]


def _loaded() -> Any:  # the demo is a program, not a package of the project
    spec = importlib.util.spec_from_file_location("demo_comparison", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["demo_comparison"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


demo = _loaded()


@pytest.mark.parametrize(
    ("copy", "differs"),
    [
        ([(3, "Edsger"), (1, "Ada"), (2, "Grace")], {}),
        ([(1, "Ada"), (3, "Edsger")], {"missing": 1}),
        ([*TABLE, (2, "Grace"), (2, "Grace")], {"duplicated": 2}),
        ([(1, "Ada"), (2, "Gray"), (3, "Edsger")], {"outdated": 1}),
        ([*TABLE, (2, "Gray")], {"duplicated": 1, "outdated": 1}),
        ([*TABLE, (4, "Barbara"), (4, "Barbara")], {"unknown": 2}),
        ([(4, "Barbara")], {"missing": 3, "unknown": 1}),
        ([], {"missing": 3}),
    ],
)
def test_a_copy_differs_by_rows_that_lack_come_twice_are_old_or_are_of_no_row(
    copy: list[tuple[int, str]], differs: dict[str, int]
) -> None:
    assert demo.compare(TABLE, copy) == demo.Comparison(**differs)


def test_a_comparison_reads_as_its_four_counts() -> None:
    assert str(demo.Comparison(1, 2, 3, 4)) == "1 missing, 2 duplicated, 3 not up to date, 4 unknown"
