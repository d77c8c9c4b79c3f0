"""Check of the links of Markdown pages: files, folders and headings of the repository."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .pages import Page

__all__ = ["broken"]


def broken(pages: Iterable[Page], root: Path) -> Iterator[str]:
    """Yield a message for each relative link without a target.

    A link may lead to a file or folder below `root`, and from there to a heading of a page. Absolute addresses are not
    followed.
    """
    known = {page.path.resolve(): page for page in pages}
    for page in known.values():
        for link in page.links:
            cause = _cause(link.target, page, known, root.resolve())
            if cause is not None:
                yield f"{page.path.relative_to(root)}:{link.line}: cannot follow {link.target}: {cause}"


def _cause(target: str, page: Page, known: Mapping[Path, Page], root: Path) -> str | None:
    """Return why a link has no target, or None if it has one."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    if parts.path.startswith("/"):
        return "its path is absolute; make it relative to the page"
    path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
    if not path.exists():
        return "the file does not exist"
    if not path.is_relative_to(root):
        return "the file is outside of the repository"
    if not parts.fragment:
        return None
    page_of = known.get(path / "README.md" if path.is_dir() else path)
    if page_of is None:
        return "only pages of this check have headings; link to the file without an anchor"
    if unquote(parts.fragment) in page_of.anchors:
        return None
    near = _near(parts.fragment, page_of.anchors)
    return f"the page has no such heading{f'; did you mean #{near}?' if near else ''}"


def _near(name: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)
