"""What the pages point to is there: files, headings, tests, make targets, programs of the repository."""

import re
from urllib.parse import unquote

import pytest

from .pages import ROOT, blocks, commands, pages, text_of

HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    plain = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(plain)}


@pytest.mark.parametrize("page", pages())
def test_each_link_leads_to_a_page_and_a_heading_that_exist(page: str) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(str(target.resolve().relative_to(ROOT.resolve())))):
            wrong.append(link)
    assert not wrong


@pytest.mark.parametrize("page", [p for p in pages() if p != "docs/first-plugin.md"])  # whose files are a new project's
def test_each_file_of_the_repository_that_a_page_names_exists(page: str) -> None:
    folder = r"(?:tests|examples|scripts|docs|helm|crds|unit|integration|e2e|cluster_api)"
    named = re.findall(rf"`({folder}/[\w./*-]+)`", text_of(page))
    missing = [
        name
        for name in named
        if not any(list(base.glob(name)) for base in (ROOT, ROOT / "tests", ROOT / "tests" / "integration"))
    ]
    assert not missing


def test_each_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    typed = [
        command for language in ("console", "") for block in blocks(language) for command in block.text.splitlines()
    ]
    named = {match for line in typed for match in re.findall(r"^(?:\$ )?make ([a-z][a-z-]*)", line)}
    named |= {match for page in pages() for match in re.findall(r"`make ([a-z][a-z-]*)", text_of(page))}
    assert len(named) > 5
    assert named - targets == set()


def test_each_program_of_the_repository_that_a_console_calls_exists() -> None:
    called = {
        word
        for block in blocks("console")
        for command in commands(block)
        for word in re.findall(r"(?:^|[\s(])((?:tests|scripts)/[\w/.-]+)", command)
    }
    assert called
    assert [path for path in called if not (ROOT / path).exists()] == []
