"""Folders with plugins, which the images of PluginVersions bring into a pod (KIP-891).

They stand behind the runtime's own packages on `sys.path`, in the process of a task or job and in Spark's workers: what the
runtime has is the runtime's, whatever copies an image holds. Imports the standard library first of all: Spark's daemon uses
it before anything else.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from importlib.metadata import distributions as _distributions
from typing import Final

from packaging.utils import canonicalize_name

__all__ = ["FOLDERS_VARIABLE", "append_folders", "append_inherited_folders", "distributions", "is_named"]

FOLDERS_VARIABLE: Final = "PENSTOCK_PLUGIN_FOLDERS"
"""The folders, for processes that this one starts; between them stands what no path in a pod holds, `os.pathsep`."""


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
        name = found.metadata["Name"]
        if name and (canonical := canonicalize_name(name)) not in seen:  # a broken one has none
            seen.add(canonical)
            yield found


def is_named(distribution: Distribution, name: str) -> bool:
    """Whether that is the distribution's name; `-`, `_`, `.` and upper case do not matter."""
    return canonicalize_name(distribution.metadata["Name"]) == canonicalize_name(name)


def _inherited() -> list[str]:
    return [folder for folder in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if folder]
