"""What the pages point to is there: files, headings, tests, make targets, programs of the repository."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.docs_site.links import broken
from scripts.docs_site.navigation import navigation
from scripts.docs_site.navigation import problems as not_placed
from scripts.docs_site.pages import Page

from .pages import ROOT, blocks, commands, pages, text_of


def problems(folder: Path, **pages: str) -> list[str]:
    """What the check says of these pages, whose names have no ending."""
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)
    return list(broken([Page(folder / f"{name}.md") for name in pages], folder))


def test_each_link_of_the_repository_leads_to_a_page_and_a_heading_and_each_page_is_in_the_navigation() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check-links"], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("missing.md", "the file does not exist"),
        ("b.md#tow", "the page has no such heading; did you mean #two?"),
        ("#nothing-like-it", "the page has no such heading"),
        ("/b.md", "its path is absolute; make it relative to the page"),
        ("../outside.md", "the file is outside of the repository"),
        ("code.py#L3", "only pages of this check have headings; link to the file without an anchor"),
    ],
)
def test_a_link_without_a_target_is_reported_with_its_line_and_cause(tmp_path: Path, target: str, cause: str) -> None:
    (tmp_path / "outside.md").write_text("")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "code.py").write_text("")
    found = problems(root, a=f"# A\n\nFirst.\n\nSee [this]({target}).\n", b="# B\n## Two\n")
    assert found == [f"a.md:5: cannot follow {target}: {cause}"]


def test_links_to_files_folders_and_githubs_anchors_are_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    text = """# `penstock run`, and more
## Twice
## Twice
[1](#penstock-run-and-more) [2](#twice-1) [3](b.md#a_b--c) [4](folder) [5](https://example.com/missing) ![6](b.md)

    [not](a-link.md)

`[nor](this.md)`

```
[nor](that.md)
```
"""
    assert problems(tmp_path, a=text, b="# A_B & *C*\n") == []


def test_a_page_without_a_section_a_missing_page_and_a_doubled_one_are_reported(tmp_path: Path) -> None:
    for name in ("index", "here", "lost"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n")
    whole = navigation(["index.md", {"Do": ["here.md", {"Again": "here.md"}, "gone.md"]}], tmp_path)
    assert [line.partition(": ")[0] for line in not_placed(whole, tmp_path)] == [
        "cannot find lost.md in the navigation",
        "cannot find the page gone.md of the navigation",
        "cannot place here.md in the navigation",
    ]


def test_a_folder_in_the_navigation_has_all_its_pages_and_its_readme_first(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("b", "README", "a"):
        (tmp_path / "folder" / f"{name}.md").write_text(f"# Page {name}\n")
    whole = navigation([{"Folder": "folder/"}], tmp_path)
    assert [entry.title for entry in whole.entries] == ["Page README", "Page a", "Page b"]


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
