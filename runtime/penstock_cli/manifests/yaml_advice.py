"""Advice for text that is not YAML: PyYAML's errors reworded for the author of the text.

No text of the file is repeated, since it may be a secret (`password: *hunter2` refers to an anchor of that name).
"""

import json
import re
from typing import Final

import yaml

from penstock import Problem

__all__ = ["advice"]

_QUOTE: Final = "quote it if it is a string"
_KNOWN: Final = (
    (
        "mapping values are not allowed",
        "a ':' is not allowed here: quote the string, or check the indentation of this line and the one above",
    ),
    (
        "but found '<block mapping start>'",
        "this line is indented differently from its neighbors; lines of one mapping begin in the same column",
    ),
    (
        "but found '<block sequence start>'",
        "this line is indented differently from its neighbors; items of one list begin in the same column",
    ),
    ("but found '-'", "a '-' begins an item of a list, but the lines above are not a list"),
    ("expected <block end>", "this line does not fit the lines above: check its indentation and its quotes"),
    ("could not find expected ':'", "a key has no ':' after it; write key: value"),
    ("unexpected end of stream", "a quotation mark is not closed"),
    ("document separator", "a quotation mark is not closed"),
    ("<document start>", "this line does not fit the lines above: check its indentation and its brackets"),
    (
        "sequence entries are not allowed",
        "a '-' begins an item of a list, which is not allowed here; check the indentation",
    ),
    ("a comment or a line break", f"after '|' or '>', a string begins on the next line; {_QUOTE}"),
    ("chomping or indentation", f"after '|' or '>', a string begins on the next line; {_QUOTE}"),
    ("expected URI", f"a '!' begins a tag, which manifests do not have; {_QUOTE}"),
    ("<stream end>", "a bracket is not closed"),
    ("expected ',' or", "a bracket is not closed, or a comma is missing"),
    ("expected the node content", "a value is missing, or there is one bracket too many"),
    ("cannot start any token", f"a value begins with a character that is special in YAML; {_QUOTE}"),
    ("alphabetic or numeric character", f"a value begins with '*' or '&', which are anchors in YAML; {_QUOTE}"),
    ("undefined alias", f"a '*' refers to an anchor that does not exist; {_QUOTE}"),
    ("duplicate anchor", f"a '&' defines an anchor a second time; {_QUOTE}"),
    ("escape", "in double quotes, a backslash begins an escape sequence; use single quotes"),
    ("tag", f"a '!' begins a tag, which manifests do not have; {_QUOTE}"),
    ("a key must be", "a key must be a plain string"),
    ("recursive", "an anchor contains itself; write it out"),
    ("merge", "'<<' takes a mapping or an alias of one"),
)
"""Parts of PyYAML's messages, with advice; the first match counts."""


def advice(error: Exception, part: str, above: int, whole: str) -> Problem:
    """Return the problem, with its line of the file.

    Args:
        error: PyYAML's error, or one that Python raises within it.
        part: parsed part of the text.
        above: number of lines of the file before that part.
        whole: the file's text.
    """
    if re.match(r'\s*\{\s*"', whole):
        try:
            json.loads(whole)
        except ValueError as e:
            if isinstance(e, json.JSONDecodeError):
                message = e.msg[:1].lower() + e.msg[1:].removesuffix(" at")
                return Problem(f"line {e.lineno}", f"is not JSON: {message} (column {e.colno})")
    if isinstance(error, yaml.reader.ReaderError):
        line = part.count("\n", 0, error.position) + above + 1
        return Problem(f"line {line}", f"contains the control character U+{ord(part[error.position]):04X}; remove it")
    mark = (error.problem_mark or error.context_mark) if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else "check quotes and indentation"
        return Problem(f"line {above + 1}", f"cannot be parsed from here on: {why}")
    lines = part.rstrip().splitlines() or [""]
    at = min(mark.line, len(lines) - 1)  # unclosed quotes and brackets are reported at the end of the text
    begun = error.context_mark
    since = f" (the enclosing element begins in line {above + begun.line + 1})" if begun and begun.line < at else ""
    if "\t" in lines[at][: len(lines[at]) - len(lines[at].lstrip())]:
        return Problem(f"line {above + at + 1}", "is indented by a tab, which YAML does not allow; use spaces")
    message = str(error.problem or error.context)
    text = next((text for sign, text in _KNOWN if sign in message), "it cannot be parsed; check quotes and indentation")
    return Problem(f"line {above + at + 1}", f"is not YAML: {text}{since}")
