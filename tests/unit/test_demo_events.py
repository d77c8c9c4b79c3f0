"""Whether the topic has the changes of the database: examples/shared/events.py."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FIRST, SECOND = {"id": 7, "price": 1.5, "changes": 0}, {"id": 7, "price": 2.0, "changes": 1}
NEW = {"op": "c", "before": None, "after": FIRST}
CHANGED = {"op": "u", "before": FIRST, "after": SECOND}
DELETED = {"op": "d", "before": SECOND, "after": None}
JOURNAL = [((7, 0), "c", FIRST), ((7, 1), "u", SECOND), ((7, 2), "d", None)]


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Any:  # the demo is a program, not a package of the project
    monkeypatch.syspath_prepend(str(EXAMPLES / "shared"))
    spec = importlib.util.spec_from_file_location("demo_cdc_events", EXAMPLES / "shared" / "events.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop("comparison")
    return module


@pytest.mark.parametrize(
    ("events", "differs"),
    [
        ([NEW, CHANGED, DELETED], ""),
        ([NEW, DELETED], "1 missing"),
        ([NEW, CHANGED, CHANGED, DELETED], "1 duplicated"),
        ([NEW, {**CHANGED, "after": {**SECOND, "price": 3.0}}, DELETED], "1 altered"),
        ([NEW, CHANGED, DELETED, {**NEW, "after": {**FIRST, "id": 8}}], "1 unknown"),
        ([CHANGED, NEW, DELETED], "1 out of order"),
    ],
)
def test_the_count_names_each_way_in_which_the_topic_differs(demo: Any, events: list[Any], differs: str) -> None:
    text, good = demo.counted(JOURNAL, [demo.row(event) for event in events])
    assert text.startswith("3 changes, ")
    assert [part for part in text.split(", ")[1:] if not part.startswith("0 ")] == ([differs] if differs else [])
    assert good is not bool(differs)


def test_an_event_reads_as_one_line(demo: Any) -> None:
    assert demo.line(NEW).split() == ["insert", "order", "7", '{"price":', "1.5,", '"changes":', "0}"]
    assert demo.line(CHANGED).split(None, 3)[3] == "price 1.5 -> 2.0, changes 0 -> 1"
    assert demo.line(DELETED).startswith("delete  order 7")
