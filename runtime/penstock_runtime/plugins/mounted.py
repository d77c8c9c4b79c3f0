"""Folders with plugins from images of PluginVersions, which are mounted into a pod (KIP-891).

They follow the runtime's packages on `sys.path`, in the process of a task or job and in Spark's workers: the runtime's
packages take precedence over copies in an image.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.metadata import distributions as _distributions
from typing import Final

from packaging.utils import canonicalize_name

from penstock_model.contracts.plugin_mount import PluginMount

__all__ = [
    "FOLDERS_VARIABLE",
    "append_folders",
    "append_inherited_folders",
    "distributions",
    "is_in",
    "is_named",
    "own_distribution",
    "python_folders",
]

FOLDERS_VARIABLE: Final = "PENSTOCK_PLUGIN_FOLDERS"
"""Folders for child processes, separated by `os.pathsep`, which no path in a pod contains."""


def python_folders(mounts: Iterable[PluginMount]) -> tuple[str, ...]:
    """Return the folders that contain Python distributions, in order."""
    return tuple(m.folder for m in mounts if m.runtime == "Python")


def append_folders(folders: Iterable[str]) -> None:
    """Add these folders to the end of `sys.path`, in this process and in those that it starts for Spark.

    Must be called before importing anything of a plugin. Folders already on the path keep their position.
    """
    wanted = [folder for folder in folders if folder not in sys.path]
    if not wanted:
        return
    sys.path += wanted
    os.environ[FOLDERS_VARIABLE] = os.pathsep.join([*_inherited(), *wanted])


def append_inherited_folders() -> None:
    """Add the folders of the parent process to the end of `sys.path`."""
    sys.path += [folder for folder in _inherited() if folder not in sys.path]


def distributions(paths: Iterable[str]) -> Iterator[Distribution]:
    """Yield the distributions in these folders. If several have the same name, only the first counts, as for imports."""
    seen = set[str]()
    for found in _distributions(path=[*paths]):
        try:
            name, _ = found.metadata["Name"], found.version
        except (KeyError, UnicodeError):  # its metadata cannot be read, and Python ignores it too
            continue
        if name and (canonical := canonicalize_name(name)) not in seen:
            seen.add(canonical)
            yield found


def own_distribution(name: str, folders: Collection[str]) -> Distribution | None:
    """Return the runtime's distribution of that name; None if there is none outside of these folders."""
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError, UnicodeError):
        return None
    return None if is_in(found, folders) else found


def is_in(found: Distribution, folders: Collection[str]) -> bool:
    """Return whether a distribution is in one of these folders."""
    return os.path.normpath(str(found.locate_file(""))) in folders


def is_named(distribution: Distribution, name: str) -> bool:
    """Return whether the distribution has that name; `-`, `_`, `.` and case do not matter."""
    return canonicalize_name(distribution.metadata["Name"]) == canonicalize_name(name)


def _inherited() -> list[str]:
    return [folder for folder in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if folder]
