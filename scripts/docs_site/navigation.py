"""Navigation of the site: sections of pages, in the format of MkDocs' `nav`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from .pages import Page

__all__ = ["Entry", "Section", "navigation", "problems"]


@dataclass(frozen=True)
class Entry:
    """Page in the navigation.

    Args:
        title: title in the navigation.
        path: path relative to the folder of the documentation.
    """

    title: str
    path: str


@dataclass(frozen=True)
class Section:
    """Section of the navigation, with its pages and further sections."""

    title: str
    parts: list["Entry | Section"] = field(default_factory=list)

    @property
    def entries(self) -> Iterator[Entry]:
        """All pages of the section and of the sections in it."""
        for part in self.parts:
            if isinstance(part, Entry):
                yield part
            else:
                yield from part.entries

    def existing(self, folder: Path) -> Self:
        """Return the section without pages that do not exist."""
        parts = [
            part if isinstance(part, Entry) else part.existing(folder)
            for part in self.parts
            if isinstance(part, Section) or (folder / part.path).exists()
        ]
        return type(self)(self.title, parts)

    def as_nav(self) -> list[Any]:
        """Return the parts in the format of MkDocs' `nav`."""
        return [{part.title: part.path if isinstance(part, Entry) else part.as_nav()} for part in self.parts]


def navigation(nav: Sequence[Any], folder: Path, title: str = "") -> Section:
    """Read a `nav`; a path that ends with a slash has all pages of this folder, its README first."""
    parts: list[Entry | Section] = []
    for item in nav:
        name, value = next(iter(item.items())) if isinstance(item, dict) else (None, item)
        if isinstance(value, list):
            parts.append(navigation(value, folder, str(name)))
        elif value.endswith("/"):
            files = sorted((folder / value).glob("*.md"), key=lambda f: (f.name != "README.md", f.name))
            parts.append(Section(str(name), [Entry(Page(f).title, f"{value}{f.name}") for f in files]))
        else:
            file = folder / value
            parts.append(Entry(name or (Page(file).title if file.exists() else value), value))
    return Section(title, parts)


def problems(whole: Section, folder: Path) -> Iterator[str]:
    """Yield a message for each page that is in no section, in several, or does not exist."""
    named = [entry.path for entry in whole.entries]
    pages = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}
    for path in sorted(pages - set(named)):
        yield f"cannot find {path} in the navigation: no section has it; add it to nav in docs/site.yml"
    for path in sorted(set(named) - pages):
        yield f"cannot find the page {path} of the navigation: it does not exist; remove it from nav in docs/site.yml"
    for path in sorted({path for path in named if named.count(path) > 1}):
        yield f"cannot place {path} in the navigation: it is there more than once; keep one entry in nav in docs/site.yml"
