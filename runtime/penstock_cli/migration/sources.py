"""Reader of the documents to import: files of JSON, YAML and Java properties, folders of them, and standard input."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.errors import Problem
from penstock_cli.manifests.connect_forms import looks_like_properties
from penstock_cli.manifests.yaml_text import documents
from penstock_java_compat.properties import parse_properties

__all__ = ["Source", "read_sources"]

_ENDINGS: Final = (".json", ".yaml", ".yml", ".properties")
"""Suffixes of the files in a folder that are read."""


@dataclass(frozen=True)
class Source:
    """Document to import.

    Attributes:
        where: file and document, for messages.
        value: its content, or the problem if it cannot be read.
        is_of_folder: whether its folder was named instead of its file, so that any content is allowed.
    """

    where: str
    value: Any
    is_of_folder: bool = False


def read_sources(files: Sequence[str]) -> Iterator[Source]:
    """Yield the documents of these files and folders; `-` is standard input."""
    for file in files:
        if file != "-" and Path(file).is_dir():
            for path in sorted(p for p in Path(file).rglob("*") if p.suffix in _ENDINGS and p.is_file()):
                yield from (Source(where, value, is_of_folder=True) for where, value in _documents(str(path)))
        else:
            yield from (Source(where, value) for where, value in _documents(file))


def _documents(file: str) -> Iterator[tuple[str, Any]]:
    name = "standard input" if file == "-" else file
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        if looks_like_properties(file, text):
            yield name, parse_properties(text)
            return
    except UnicodeDecodeError:
        yield name, Problem(name, "is not UTF-8 text; save it as UTF-8")
        return
    except ValueError as e:
        yield name, Problem(name, str(e))
        return
    except (OSError, AttributeError) as e:  # standard input is None if it was closed
        yield name, Problem(name, f"cannot be read: {getattr(e, 'strerror', None) or 'it is closed'}")
        return
    for document in documents(text):
        where = f"{name}, document {document.number}"
        yield from ((where, Problem(f"{name}: {p.property}", p.message)) for p in document.problems)
        if document.value is not None and not document.problems:
            yield where, document.value
