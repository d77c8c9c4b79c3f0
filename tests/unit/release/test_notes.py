"""Release notes are the section of the version in the changelog."""

import pytest
from scripts.release.commands import ReleaseError
from scripts.release.notes import notes

CHANGELOG = """\
# Changelog

## [Unreleased]

## [0.10.0] - 2027-01-01
### Added
- More.

## [0.1.0] - 2026-12-01

First release.

### Known limits
- None.
"""


@pytest.mark.parametrize(
    ("version", "text"),
    [("0.10.0", "### Added\n- More.\n"), ("0.1.0", "First release.\n\n### Known limits\n- None.\n")],
)
def test_notes_are_one_section_without_its_heading(version: str, text: str) -> None:
    assert notes(CHANGELOG, version) == text


def test_a_missing_section_names_the_heading_to_write() -> None:
    with pytest.raises(ReleaseError, match=r"no section \[0\.2\.0\]; rename \[Unreleased\] to `## \[0\.2\.0\] - "):
        notes(CHANGELOG, "0.2.0")


def test_an_empty_section_is_refused() -> None:
    with pytest.raises(ReleaseError, match=r"section \[Unreleased\] of CHANGELOG\.md is empty"):
        notes(CHANGELOG, "Unreleased")
