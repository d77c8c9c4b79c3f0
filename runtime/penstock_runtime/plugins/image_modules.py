"""The modules that a folder of distributions brings, found by their files: nothing is imported."""

import os
from collections.abc import Iterator, Mapping
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from penstock_runtime.plugins.mounted import distributions

__all__ = ["modules_of", "overlapping"]

_DEEPEST: Final = 8
"""Namespaces within each other."""
_NAMESPACE_IDIOMS: Final = ("extend_path", "declare_namespace")
"""By these, `__init__.py` makes a namespace of a package: the older ways, beside a folder without `__init__.py`."""
_SUFFIXES: Final = tuple(sorted(all_suffixes(), key=len, reverse=True))


def modules_of(folder: str) -> Mapping[str, str | None]:
    """The names of the modules and packages in a folder, each with the name of its distribution; None: it is of none.

    What lies in a package is not listed; what lies in a namespace is, as `namespace.package`, and the namespace is not.
    """
    found = dict.fromkeys(_modules(Path(folder), ()))
    owners: dict[str, str | None] = {}
    for d in distributions([folder]):
        for file in d.files or ():
            parts = [*file.parts[:-1], _stem(file.name) or ""]
            for n in range(1, len(parts) + 1):
                if (name := ".".join(parts[:n])) in found:
                    owners.setdefault(name, canonicalize_name(d.name))
    return {**found, **owners}


def overlapping(one: Mapping[str, object], other: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Pairs of names of which one hides the other: equal ones, and a package that has the name of a namespace."""
    for name in other:
        parts = name.split(".")
        yield from ((p, name) for n in range(1, len(parts) + 1) if (p := ".".join(parts[:n])) in one)
    for name in one:
        parts = name.split(".")
        yield from ((name, p) for n in range(1, len(parts)) if (p := ".".join(parts[:n])) in other)


def _modules(folder: Path, above: tuple[str, ...]) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.is_dir():
                if entry.name.isidentifier() and entry.name not in ("__pycache__", "bin"):
                    yield from _package(Path(entry.path), (*above, entry.name))
            elif (stem := _stem(entry.name)) is not None and stem.isidentifier() and stem != "__init__":
                yield ".".join((*above, stem))


def _package(folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    marks = [folder / f"__init__{suffix}" for suffix in _SUFFIXES]
    mark = next((m for m in marks if m.is_file()), None)
    if mark is not None and not _is_namespace(mark):
        yield ".".join(names)
    elif len(names) < _DEEPEST:
        yield from _modules(folder, names)


def _is_namespace(mark: Path) -> bool:
    return mark.suffix == ".py" and any(i in mark.read_text(errors="replace") for i in _NAMESPACE_IDIOMS)


def _stem(file: str) -> str | None:
    """The module in a file of this name; None: there is none."""
    return next((file.removesuffix(s) for s in _SUFFIXES if file.endswith(s)), None)
