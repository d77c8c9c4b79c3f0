"""Conversion of pages for the site generator and for readers of Markdown.

The generator's Markdown has other rules for lists and tables than GitHub's. Therefore everything except headings is passed
to it as HTML from a parser with GitHub's rules; headings have GitHub's anchors.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from .pages import Page

__all__ = ["Placed", "Site", "address"]

_BREAK: Final = re.compile(r"(?<=[._/@=,:-])(?=\w)|(?<=[a-z])(?=[A-Z])")
"""Positions for line breaks in identifiers: after punctuation and before capitals."""
_LINK: Final = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^)\s]+)(?P<title>[^)]*)\)")
_FENCED: Final = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def _highlighted(code: str, language: str, _attributes: str) -> str:
    """Return the HTML of a block of code; one that is too wide can be scrolled with the keyboard, too."""
    if language == "mermaid":
        return f'<pre class="diagram" tabindex="0">{escapeHtml(code)}</pre>\n'
    lexer = get_lexer_by_name(language or "text")
    return (
        f'<pre class="highlight"><code tabindex="0">{highlight(code, lexer, HtmlFormatter(nowrap=True))}</code></pre>\n'
    )


_RENDERER: Final = MarkdownIt("commonmark", {"highlight": _highlighted})


def address(page: str) -> str:
    """Return the address of a page relative to the site: `a/b.md` is at `a/b/`."""
    path = Path(page)
    folder = path.parent if path.name in ("README.md", "index.md") else path.with_suffix("")
    return "" if folder == Path() else f"{folder}/"


@dataclass(frozen=True)
class Placed:
    """Target of a link: a page or picture of the site, or a file of the repository.

    Args:
        address: address, or path relative to the page's file; empty: there is none.
        path: path in the repository, if the target is not a page of the site.
        page: path of the page of the site that is the target, relative to the folder of the pages.
    """

    address: str
    path: str = ""
    page: str = ""


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
        """Return a page for readers of Markdown: links to files outside of the site are addresses of these, or text."""
        parts = _FENCED.split(page.text)
        return "".join(part if _FENCED.match(part) else self._with_links(part, page) for part in parts)

    def placed(self, target: str, page: Page) -> Placed:
        """Return the target of a link; one in the site as written, since the generator replaces it with its address."""
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not parts.path:
            return Placed(target)
        path = (page.path.parent / unquote(parts.path)).resolve()
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        docs = self.docs.resolve()
        if path.is_relative_to(docs) and path.is_dir() and (path / "README.md").exists():
            return Placed(f"{parts.path.rstrip('/')}/README.md{anchor}", page=f"{path.relative_to(docs)}/README.md")
        if path.is_relative_to(docs) and path.suffix in (".md", ".png", ".svg"):
            return Placed(target, page=str(path.relative_to(docs)) if path.suffix == ".md" else "")
        in_repository = str(path.relative_to(self.root.resolve()))
        return Placed(f"{self.repository}/{in_repository}{anchor}" if self.repository else "", in_repository)

    def _blocks(self, page: Page) -> Iterator[str]:
        anchors = iter(page.anchors)
        for block in _top_level(page.tokens):
            first = block[0]
            if first.type == "heading_open":
                yield f"{'#' * int(first.tag[1])} {block[1].content} {{ #{next(anchors)} }}"
            else:
                yield self._html(block, page)

    def _html(self, block: Sequence[Token], page: Page) -> str:
        is_table = block[0].type == "table_open"
        for token in block:
            if token.children:
                inline = list(self._inline(token.children, page))
                token.children = list(map(_breakable, inline)) if is_table else inline
        html = str(_RENDERER.renderer.render(block, _RENDERER.options, {}))
        wide = '<div class="md-typeset__scrollwrap" tabindex="0"><div class="md-typeset__table">'
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
            elif token.type == "link_close" and not without.pop().address:
                yield _raw("</span>")
            elif without and token.type == "text" and token.content.endswith(".md"):
                yield Token("text", "", 0, content=self._title(without[-1]) or token.content)
            else:
                yield token

    def _title(self, placed: Placed) -> str | None:
        """Return the title of the page at the target of a link whose text is only a file name."""
        return Page(self.docs / placed.page).title if placed.page else None

    def _with_links(self, text: str, page: Page) -> str:
        def replaced(found: re.Match[str]) -> str:
            placed = self.placed(found["target"], page)
            if placed.address:
                return f"[{found['text']}]({placed.address}{found['title']})"
            text = found["text"].strip("`")
            return f"`{placed.path}`" if placed.path.endswith(text) else f"{found['text']} (`{placed.path}`)"

        return _LINK.sub(replaced, text)


def _breakable(token: Token) -> Token:
    """Return a token of a table's cell, with positions for line breaks in identifiers."""
    if token.type != "code_inline":
        return token
    return _raw(f"<code>{_BREAK.sub(r'<wbr>', escapeHtml(token.content))}</code>")


def _raw(html: str) -> Token:
    return Token("html_inline", "", 0, content=html)


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each top-level block."""
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
