"""Pages as the site generator and readers of Markdown take them.

The generator's Markdown has other rules for lists and tables than GitHub's. Therefore everything except headings and blocks
of code reaches it as HTML, made by a parser with GitHub's rules; headings have GitHub's anchors.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from markdown_it.token import Token

from .pages import PARSER, Page

__all__ = ["Placed", "Site", "address"]

_LINK: Final = re.compile(r"(?<=\]\()([^)\s]+)(?=[)\s])")
_FENCED: Final = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def address(page: str) -> str:
    """Return the address of a page relative to the site: `a/b.md` is at `a/b/`."""
    path = Path(page)
    folder = path.parent if path.name in ("README.md", "index.md") else path.with_suffix("")
    return "" if folder == Path() else f"{folder}/"


@dataclass(frozen=True)
class Placed:
    """Target of a link: an address on the web or in the site, or a path of the repository without an address.

    Args:
        address: address, relative to the page; empty: there is none.
        path: path in the repository.
    """

    address: str
    path: str = ""


@dataclass(frozen=True)
class Site:
    """Folder of pages, and the repository that it is in.

    Args:
        root: folder of the repository.
        docs: folder of the pages.
        repository: address of the repository's files, to which a path is added; empty: it has none.
    """

    root: Path
    docs: Path
    repository: str = ""

    def staged(self, page: Page) -> str:
        """Return a page for the generator."""
        name = str(page.path.relative_to(self.docs))
        matter = {"description": page.summary, "markdown": name}
        head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in matter.items())
        return f"---\n{head}---\n\n" + "\n\n".join(self._blocks(page)) + "\n"

    def as_markdown(self, page: Page) -> str:
        """Return a page for readers of Markdown, with links to files outside of the site replaced."""
        parts = _FENCED.split(page.text)
        return "".join(part if _FENCED.match(part) else self._with_links(part, page) for part in parts)

    def placed(self, target: str, page: Page, *, is_page: bool = True) -> Placed:
        """Return the target of a link: for `is_page` relative to the page's address, otherwise to its file."""
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not parts.path:
            return Placed(target)
        path = (page.path.parent / unquote(parts.path)).resolve()
        if path.is_dir() and (path / "README.md").exists() and path.is_relative_to(self.docs.resolve()):
            path /= "README.md"
        inside = path.is_relative_to(self.docs.resolve()) and path.suffix in (".md", ".png", ".svg")
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        if not inside:
            in_repository = str(path.relative_to(self.root.resolve()))
            return Placed(f"{self.repository}/{in_repository}{anchor}" if self.repository else "", in_repository)
        if not is_page:
            return Placed(target)
        of, own = str(path.relative_to(self.docs.resolve())), address(str(page.path.relative_to(self.docs)))
        wanted = (address(of) or ".") if path.suffix == ".md" else of
        relative = os.path.relpath(wanted, own or ".")
        return Placed(f"{relative}{'/' if path.suffix == '.md' else ''}{anchor}")

    def _blocks(self, page: Page) -> Iterator[str]:
        lines = page.text.splitlines()
        anchors = iter(page.anchors)
        for block in _top_level(page.tokens):
            first = block[0]
            begin, end = first.map or (0, 0)
            if first.type == "heading_open":
                yield f"{'#' * int(first.tag[1])} {block[1].content} {{ #{next(anchors)} }}"
            elif first.type == "fence":
                yield "\n".join(lines[begin:end])
            else:
                yield self._html(block, page)

    def _html(self, block: Sequence[Token], page: Page) -> str:
        for token in block:
            if token.children:
                token.children = list(self._inline(token.children, page))
        html = str(PARSER.renderer.render(block, PARSER.options, {}))
        wide = '<div class="md-typeset__scrollwrap"><div class="md-typeset__table">'
        html = html.replace("<table>", f"{wide}<table>").replace("</table>", "</table></div></div>")
        return f"<div>\n{html}</div>"

    def _inline(self, tokens: Sequence[Token], page: Page) -> Iterator[Token]:
        without: list[Placed] = []
        for token in tokens:
            key = {"link_open": "href", "image": "src"}.get(token.type)
            if key:
                placed = self.placed(str(token.attrGet(key)), page)
                token.attrSet(key, placed.address)
                if token.type == "link_open":
                    without.append(placed)
            if token.type == "link_open" and not without[-1].address:
                yield _raw(f'<span title="{without[-1].path} in the repository">')
            elif token.type == "link_close" and not (placed := without.pop()).address:
                yield _raw("</span>")
            else:
                yield token

    def _with_links(self, text: str, page: Page) -> str:
        def replaced(found: re.Match[str]) -> str:
            placed = self.placed(found[1], page, is_page=False)
            return placed.address or placed.path

        return _LINK.sub(replaced, text)


def _raw(html: str) -> Token:
    return Token("html_inline", "", 0, content=html)


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each block that is in no other."""
    block: list[Token] = []
    depth = 0
    for token in tokens:
        block.append(token)
        depth += token.nesting
        if depth == 0:
            yield block
            block = []


def settings(config: Mapping[str, Any], **changes: Any) -> str:
    """Return the generator's configuration, without our own keys."""
    return json.dumps({**{k: v for k, v in config.items() if k != "repo_url"}, **changes}, indent=1)
