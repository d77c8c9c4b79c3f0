"""Files of the site in addition to its pages: Markdown, an index for programs, versions and redirects."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .navigation import Entry, Section
from .pages import Page
from .staging import Site, address

__all__ = ["LATEST", "add_markdown", "add_versions", "index"]

LATEST: Final = "latest"

_REDIRECT: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Redirecting</title>
<noscript><meta http-equiv="refresh" content="0; url={to}"></noscript>
<script>location.replace("{to}" + location.search + location.hash)</script>
<a href="{to}">Continue</a>
</html>
"""


def index(whole: Section, site: Site, name: str, summary: str) -> str:
    """Return llms.txt: one line for each page, with a link to its Markdown."""
    return f"# {name}\n\n> {summary}\n" + "".join(_listed(whole, site))


def _listed(section: Section, site: Site) -> Iterator[str]:
    entries = [part for part in section.parts if isinstance(part, Entry)]
    if entries:
        yield f"\n## {section.title}\n" if section.title else "\n"
    for entry in entries:
        yield f"- [{entry.title}]({entry.path}): {Page(site.docs / entry.path).summary}\n"
    for part in section.parts:
        if isinstance(part, Section):
            yield from _listed(part, site)


def add_markdown(whole: Section, site: Site, folder: Path) -> None:
    """Write the Markdown of each page next to the folder of its HTML."""
    for entry in whole.entries:
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(site.as_markdown(Page(site.docs / entry.path)))


def add_versions(folder: Path, version: str, entries: list[Entry]) -> None:
    """Write the list of versions, and redirect `latest` and the start page to the newest one.

    Args:
        folder: folder of the site, with a folder for each version.
        version: version that was built.
        entries: its pages.
    """
    versions = sorted(
        (p.name for p in folder.iterdir() if re.fullmatch(r"\d+(\.\d+)*", p.name)), key=_key, reverse=True
    )
    listed = [{"version": v, "title": v, "aliases": [LATEST] if v == versions[0] else []} for v in versions]
    (folder / "versions.json").write_text(json.dumps(listed, indent=1) + "\n")
    if version != versions[0]:
        return  # an older version was built again
    shutil.rmtree(folder / LATEST, ignore_errors=True)
    for place in (".", *(f"{LATEST}/{address(entry.path)}" for entry in entries)):
        page = folder / place
        page.mkdir(parents=True, exist_ok=True)
        inner = place.removeprefix(f"{LATEST}/") if place != "." else ""
        to = os.path.relpath(folder / version / inner, page)
        (page / "index.html").write_text(_REDIRECT.format(to=f"{to}/"))


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
