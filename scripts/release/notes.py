"""Release notes: the section of a version in CHANGELOG.md."""

import re

from scripts.release.commands import ReleaseError

__all__ = ["notes"]


def notes(changelog: str, version: str) -> str:
    """Return the section of a version, without its heading.

    Raises:
        ReleaseError: there is no such section, or it is empty.
    """
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, text = section.partition("\n")
        if heading.startswith(f"[{version}]"):
            if not text.strip():
                raise ReleaseError(
                    f"cannot write release notes: section [{version}] of CHANGELOG.md is empty; describe the release in it"
                )
            return f"{text.strip()}\n"
    raise ReleaseError(
        f"cannot write release notes: CHANGELOG.md has no section [{version}];"
        f" rename [Unreleased] to `## [{version}] - YYYY-MM-DD`, and commit it"
    )
