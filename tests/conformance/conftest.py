"""Marks the cases that differ on purpose, and tells at the end what passed: `<area>: <passed>/<total>`, and what failed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from .case_files import AREAS, Case
from .differences import PAGE, row_of


def _case(item: pytest.Item) -> Case | None:
    call = getattr(item, "callspec", None)
    found = call.params.get("case") if call is not None else None
    return found if isinstance(found, dict) else None  # an area without cases has a test without a case


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A case that the table names must fail: one that passes is no difference."""
    for item in items:
        case = _case(item)
        if case is None:
            continue
        item.user_properties += [("area", case["area"]), ("case", case["id"])]
        row = row_of(case)
        if row is not None:
            item.user_properties.append(("row", row.key))
            item.add_marker(pytest.mark.xfail(reason=f"{PAGE.name}: {row.key}", strict=True))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """The summary by area, after everything else."""
    yield
    tested = list(_tested(terminalreporter))
    if not tested:
        return
    terminalreporter.section("Kafka Connect's cases")
    for area in sorted({t["area"] for t in tested}, key=lambda a: (*AREAS, a).index(a)):
        own = [t for t in tested if t["area"] == area]
        count = Counter(t["outcome"] for t in own)
        terminalreporter.write_line(f"{area}: {count['passed']}/{len(own)}")
        for outcome, words in _WORDS.items():
            found = [t["case"] for t in own if t["outcome"] == outcome]
            if found:
                terminalreporter.write_line(f"    {words}: {' '.join(found)}")


_WORDS = {
    "xfailed": f"differ on purpose (docs/{PAGE.name})",
    "xpassed": f"pass, though docs/{PAGE.name} says that they differ",
    "failed": "failed",
}


def _tested(reporter: Any) -> Iterator[dict[str, str]]:
    for category in ("passed", "failed", "error", "xfailed", "xpassed"):
        for report in reporter.stats.get(category, ()):
            about = dict(getattr(report, "user_properties", ()))
            if "case" in about and (category != "passed" or report.when == "call"):
                strict = "[XPASS(strict)]" in str(report.longrepr)
                yield {**about, "outcome": "xpassed" if strict else "failed" if category == "error" else category}
