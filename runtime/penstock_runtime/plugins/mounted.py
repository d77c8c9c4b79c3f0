"""Folders with plugins, which the images of PluginVersions bring into a pod (KIP-891).

They stand behind the runtime's own packages on `sys.path`, in the process of a task or job and in Spark's workers: what the
runtime has is the runtime's, whatever copies an image holds.
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
"""The folders, for processes that this one starts; between them stands what no path in a pod holds, `os.pathsep`."""


def python_folders(mounts: Iterable[PluginMount]) -> tuple[str, ...]:
    """The folders that hold distributions, in order."""
    return tuple(m.folder for m in mounts if m.runtime == "Python")


def append_folders(folders: Iterable[str]) -> None:
    """Import from these folders what is found nowhere else, in this process and in those that it starts for Spark.

    Call it before anything of a plugin is imported. A folder that is there already stays where it is.
    """
    wanted = [folder for folder in folders if folder not in sys.path]
    if not wanted:
        return
    sys.path += wanted
    os.environ[FOLDERS_VARIABLE] = os.pathsep.join([*_inherited(), *wanted])


def append_inherited_folders() -> None:
    """Import from the folders of the process that started this one."""
    sys.path += [folder for folder in _inherited() if folder not in sys.path]


def distributions(paths: Iterable[str]) -> Iterator[Distribution]:
    """The distributions in these folders. Of several of one name the first counts, as for imports."""
    seen = set[str]()
    for found in _distributions(path=[*paths]):
        try:
            name, _ = found.metadata["Name"], found.version
        except (KeyError, UnicodeError):  # its metadata cannot be read, and Python does not see it either
            continue
        if name and (canonical := canonicalize_name(name)) not in seen:
            seen.add(canonical)
            yield found


def own_distribution(name: str, folders: Collection[str]) -> Distribution | None:
    """The runtime's own distribution of that name; None: there is none, or only in these folders."""
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError, UnicodeError):
        return None
    return None if is_in(found, folders) else found


def is_in(found: Distribution, folders: Collection[str]) -> bool:
    """Whether a distribution lies in one of these folders."""
    return os.path.normpath(str(found.locate_file(""))) in folders


def is_named(distribution: Distribution, name: str) -> bool:
    """Whether that is the distribution's name; `-`, `_`, `.` and upper case do not matter."""
    return canonicalize_name(distribution.metadata["Name"]) == canonicalize_name(name)


def _inherited() -> list[str]:
    return [folder for folder in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if folder]
