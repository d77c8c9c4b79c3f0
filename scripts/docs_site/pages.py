"""Markdown pages: their headings with the anchors that GitHub gives them, their links, their first sentence."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["PARSER", "Link", "Page", "anchor", "text_of"]

PARSER: Final = MarkdownIt("commonmark").enable(["table", "strikethrough"])
"""Parser of GitHub's Markdown, without bare addresses."""


@dataclass(frozen=True)
class Link:
    """Link or image of a page.

    Args:
        line: number of the line on which the block with the link begins.
        target: target as written.
    """

    line: int
    target: str


@dataclass(frozen=True)
class Page:
    """Markdown page.

    Args:
        path: its file.
    """

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def tokens(self) -> list[Token]:
        return PARSER.parse(self.text)

    @cached_property
    def title(self) -> str:
        """Text of the first heading."""
        return next((text_of(t) for t in _headings(self.tokens)), self.path.stem)

    @cached_property
    def anchors(self) -> list[str]:
        """Anchors of the headings in their order, as GitHub generates them."""
        used: Counter[str] = Counter()
        found = []
        for heading in _headings(self.tokens):
            name = anchor(text_of(heading))
            found.append(f"{name}-{used[name]}" if used[name] else name)
            used[name] += 1
        return found

    @cached_property
    def links(self) -> list[Link]:
        return [
            Link((block.map or [0])[0] + 1, str(target))
            for block in self.tokens
            if block.type == "inline"
            for token in _nested(block.children or [])
            if (target := token.attrGet({"link_open": "href", "image": "src"}.get(token.type, "")))
        ]

    @cached_property
    def summary(self) -> str:
        """First sentence about the content of the page, without markup."""
        for before, token in itertools.pairwise(self.tokens):
            text = " ".join(text_of(token).split()) if before.type == "paragraph_open" and before.level == 0 else ""
            if text and not text.startswith("Date: "):
                first, *others = re.split(r"(?<=\.)\s", text, maxsplit=2)
                return others[0] if others and first.startswith("This page is for") else first
        return ""


def anchor(heading: str) -> str:
    """Return the anchor that GitHub generates for a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def text_of(inline: Token) -> str:
    """Return the text of an inline token without its markup."""
    parts = {"softbreak": " ", "hardbreak": " "}
    return "".join(
        parts.get(token.type, token.content if token.type in ("text", "code_inline") else "")
        for token in inline.children or []
    )


def _headings(tokens: Sequence[Token]) -> Iterator[Token]:
    return (after for token, after in itertools.pairwise(tokens) if token.type == "heading_open")


def _nested(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _nested(token.children or [])
