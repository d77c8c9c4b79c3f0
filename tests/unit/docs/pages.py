"""The project's Markdown pages, and the blocks of code in them."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]


@cache
def pages() -> tuple[str, ...]:
    """Every Markdown page of the repository, relative to its root."""
    files = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(files.split())


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text()


@dataclass(frozen=True)
class Block:
    """A fenced block of code: its page, its first line's number, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(language: str) -> list[Block]:
    """All blocks in one language, page by page."""
    return [
        Block(page, text_of(page).count("\n", 0, match.start(2)) + 1, language, match[2])
        for page in pages()
        for match in re.finditer(r"^```(\w*)\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE)
        if match[1] == language
    ]


def commands(block: Block) -> list[str]:
    """What a console block has typed after each `$`, with the lines that continue it, and without the output.

    A command goes on where its line ends with a backslash or a pipe, or inside of quotes.
    """
    typed: list[str] = []
    open_ = False
    for line in block.text.splitlines():
        if line.startswith("$ "):
            typed.append(line[2:])
        elif open_:
            typed[-1] += "\n" + line
        open_ = bool(typed) and _goes_on(typed[-1])
    return typed


def _goes_on(command: str) -> bool:
    plain = re.sub(r"\s#.*", "", command)
    in_a_loop = re.findall(r"\b(do|done)\b", plain)[-1:] == ["do"]
    return plain.rstrip().endswith(("\\", "|")) or plain.count("'") % 2 == 1 or in_a_loop


def table(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading (`## ...`, or the first words of a page), without backticks."""
    after = text_of(page).partition(heading)[2]
    lines = re.search(r"^\|.*\n\|[-| :]+\n((?:\|.*\n?)+)", after, re.MULTILINE)
    assert lines, f"{page} has no table below {heading!r}"
    rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in lines[1].splitlines()]
    return [[cell.strip().replace("`", "") for cell in row] for row in rows]
