"""Find the modules in a folder of distributions by their files, without importing anything."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.machinery import all_suffixes
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final, TypeAlias

from packaging.utils import canonicalize_name

from penstock_runtime.plugins.mounted import distributions

__all__ = ["Modules", "modules_of", "overlapping"]

Modules: TypeAlias = Mapping[str, frozenset[str]]
"""Names of modules and packages, each with the names of the distributions that contain it, if any."""

_DEEPEST: Final = 8
"""Maximum depth of nested namespaces."""
_NAMESPACE: Final = re.compile(
    r"^\s*(__path__\s*=.*extend_path|(__import__\(.pkg_resources.\)|pkg_resources)\.declare_namespace)", re.MULTILINE
)
"""Older ways for `__init__.py` to declare a namespace, in addition to a folder without `__init__.py`."""
_SUFFIXES: Final = tuple(sorted(all_suffixes(), key=len, reverse=True))
_NO_MODULES: Final = ("__pycache__", "bin")
"""Folders without `__init__.py` that contain no modules."""


def modules_of(folder: str) -> Modules:
    """Return the modules in a folder.

    A package is listed without its contents. Instead of a namespace, its contents are listed, as `namespace.package`.
    """
    found = {*_modules(Path(folder), ())}
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for d in distributions([folder]):
        for parts in _paths(d):
            for n in range(1, len(parts) + 1):
                if (name := ".".join(parts[:n])) in found:
                    owners[name].add(canonicalize_name(d.name))
    return {name: frozenset(owners[name]) for name in found}


def overlapping(one: Modules, other: Modules) -> Iterator[tuple[str, str]]:
    """Yield pairs of names of which one hides the other: equal names, and a package named like a namespace."""
    for name in sorted(other):
        parts = name.split(".")
        yield from ((p, name) for n in range(1, len(parts) + 1) if (p := ".".join(parts[:n])) in one)
    for name in sorted(one):
        parts = name.split(".")
        yield from ((name, p) for n in range(1, len(parts)) if (p := ".".join(parts[:n])) in other)


def _paths(d: Distribution) -> Iterator[list[str]]:
    """Yield the parts of the dotted name of each file in a distribution; if it lists no files, its top-level modules."""
    files = None
    with suppress(Exception):  # the list may be malformed
        files = [f.parts for f in d.files or ()]
    if files:
        yield from ([*parts[:-1], _stem(parts[-1]) or ""] for parts in files if parts)
        return
    tops = ""
    with suppress(OSError, UnicodeError):
        tops = d.read_text("top_level.txt") or ""
    yield from ([name] for name in (*tops.split(), canonicalize_name(d.name).replace("-", "_")))


def _modules(folder: Path, above: tuple[str, ...]) -> Iterator[str]:
    entries: list[os.DirEntry[str]] = []
    with suppress(OSError):
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    for entry in entries:
        if _is_folder(entry):
            if entry.name.isidentifier():
                yield from _package(Path(entry.path), (*above, entry.name))
        elif (stem := _stem(entry.name)) is not None and stem.isidentifier() and stem != "__init__":
            yield ".".join((*above, stem))


def _package(folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    mark = next((m for m in (folder / f"__init__{suffix}" for suffix in _SUFFIXES) if m.is_file()), None)
    if mark is not None and not _is_namespace(mark):
        yield ".".join(names)
    elif len(names) < _DEEPEST and (mark is not None or folder.name not in _NO_MODULES):
        yield from _modules(folder, names)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    with suppress(OSError):  # a link to itself
        return entry.is_dir()
    return False


def _is_namespace(mark: Path) -> bool:
    with suppress(OSError):
        return mark.suffix == ".py" and _NAMESPACE.search(mark.read_text(errors="replace")) is not None
    return False


def _stem(file: str) -> str | None:
    """Return the name of the module in a file; None if it is not one. A shared library (`libx.so`) is not a module."""
    stem = next((file.removesuffix(s) for s in _SUFFIXES if file.endswith(s)), None)
    return None if stem is not None and stem.startswith("lib") and file == f"{stem}.so" else stem
