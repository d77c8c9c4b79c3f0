"""Architecture, glossary and decisions name modules and folders that exist, and the rooms stay small."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("operator", "runtime")
DECISIONS = sorted(f"decisions/{path.name}" for path in (ROOT / "docs" / "decisions").glob("0*.md"))
SMALLER_ROOMS = (
    "operator/penstock_operator",
    "operator/penstock_operator/connector",
    "runtime/penstock_runtime",
    "runtime/penstock_runtime/task",
    "runtime/penstock_model",
    "runtime",
    "operator",
    "",
)


def modules_named_in(page: str) -> list[str]:
    """Everything in the page's backticks that looks like a path of lower-case modules."""
    text = (ROOT / "docs" / page).read_text()
    return sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+(?:\.py)?|[a-z_]+\.py)/?`", text)))


@pytest.mark.parametrize("page", ["architecture.md", "glossary.md"])
def test_the_page_leads_to_modules(page: str) -> None:
    assert len(modules_named_in(page)) > 10


@pytest.mark.parametrize("page", ["architecture.md", "glossary.md", *DECISIONS])
def test_each_module_that_the_page_names_exists(page: str) -> None:
    named = modules_named_in(page)
    files = {path.name for package in (*PACKAGES, "tests") for path in (ROOT / package).rglob("*.py")}
    missing = [
        name
        for name in named
        if name not in files
        and not any((ROOT / room / f"{name}{ending}").exists() for room in SMALLER_ROOMS for ending in ("", ".py"))
    ]
    assert not missing


def test_no_folder_of_the_source_holds_more_than_25_modules() -> None:
    modules = Counter(path.parent for package in PACKAGES for path in (ROOT / package).rglob("[!_]*.py"))
    assert len(modules) > 30
    assert {str(folder): count for folder, count in modules.items() if count > 25} == {}
