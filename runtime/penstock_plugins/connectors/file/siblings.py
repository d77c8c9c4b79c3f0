"""Files in the folder of a path that may have been at the path before: the meaning of their names, and their order.

Names do not suffice to determine the order: `app.log.1` is the newest file under logrotate and the oldest under Log4j.
Files are ordered by their last write, and by name if they were last written at the same time.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = [
    "RotationName",
    "Sibling",
    "folder_times",
    "folders_of",
    "is_named_later",
    "list_siblings",
    "rotation_name",
    "written_since",
]

_ROTATED: Final = re.compile(r"[-._~](?=[^\d]*\d)[-\d._:TZ+~]+|[-._](?:old|prev)", re.ASCII)
_COMPRESSED: Final = re.compile(r"\.(?:gz|bz2|xz|zst|zstd|lz4|lzma|br|Z|zip|7z)", re.ASCII)
_NUMBER: Final = re.compile(r"\D?(\d{1,5})", re.ASCII)
_MAX_LISTINGS: Final = 5


class RotationName(Enum):
    """Kinds of file names in the folder of the path `app.log`."""

    AFTER = "app.log.1, app.log-20261122, app.log.old"
    INSIDE = "app.1.log, app-2026-11-22.log: also names of independent files"
    OTHER = "app.log.1.gz, app.log.bak, app.log.lock"


@dataclass(frozen=True, slots=True)
class Sibling:
    """File in the folder of the path.

    Attributes:
        mark: part of its name that is not in the path's name.
        modified: time of the last write, in nanoseconds.
    """

    path: str
    naming: RotationName
    mark: str
    inode: int
    device: int
    size: int
    modified: int

    @property
    def compressed(self) -> bool:
        """Return whether its name means that it is compressed."""
        return bool(_COMPRESSED.search(self.mark))


def rotation_name(name: str, other: str) -> tuple[RotationName, str] | None:
    """Return the kind of another file's name, and the part that is not in the path's name; None if it is unrelated."""
    if other == name:
        return None
    if other.startswith(name):
        mark = other[len(name) :]
        return (RotationName.AFTER if _ROTATED.fullmatch(mark) else RotationName.OTHER), mark
    stem, extension = os.path.splitext(name)  # noqa: PTH122 (called for every name of a folder)
    if not extension or not other.startswith(stem):
        return None
    mark = other[len(stem) :]
    if mark.endswith(extension):
        mark = mark[: -len(extension)]
        return (RotationName.INSIDE, mark) if _ROTATED.fullmatch(mark) else None
    compressed = mark.rpartition(extension)
    matches = _ROTATED.fullmatch(compressed[0]) and _COMPRESSED.fullmatch(compressed[2])
    return (RotationName.OTHER, mark) if matches else None


def folders_of(path: str) -> list[tuple[str, frozenset[str]]]:
    """Return the folders that may contain files of this path, with their names: for a link its own and its target's."""
    folder, name = os.path.split(path)
    folders = {folder or ".": {name}}
    if os.path.islink(path):  # noqa: PTH114
        target = os.path.realpath(path)
        folders.setdefault(os.path.dirname(target), set()).update({name, os.path.basename(target)})  # noqa: PTH119, PTH120
    return [(f, frozenset(names)) for f, names in folders.items()]


def folder_times(path: str) -> tuple[int, ...]:
    """Return the times of the last change of the folders, which change if a file is created, deleted or renamed in them."""
    times = []
    for folder, _ in folders_of(path):
        try:
            times.append(os.stat(folder).st_mtime_ns)  # noqa: PTH116
        except OSError:
            times.append(-1)
    return tuple(times)


def list_siblings(path: str, inodes: Iterable[int] = ()) -> list[Sibling]:
    """Return the regular files in a path's folder that are named after it, or have one of these inodes.

    If files are renamed during the listing, the folder is listed again. A folder that cannot be listed counts as empty.
    """
    known_inodes = frozenset(inodes)
    for _ in range(_MAX_LISTINGS):
        before = folder_times(path)
        siblings = [b for folder, names in folders_of(path) for b in _list_folder(folder, names, known_inodes)]
        if folder_times(path) == before:
            break
    return list({(b.device, b.inode): b for b in reversed(siblings)}.values())


def _list_folder(folder: str, names: frozenset[str], inodes: frozenset[int]) -> list[Sibling]:
    siblings = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in names:
                    continue
                kinds = [k for k in (rotation_name(name, entry.name) for name in names) if k]
                if not kinds and entry.inode() not in inodes:
                    continue
                try:
                    if not entry.is_file(follow_symlinks=False):
                        continue
                    s = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # it was deleted
                kind, mark = (
                    min(kinds, key=lambda k: list(RotationName).index(k[0])) if kinds else (RotationName.OTHER, "")
                )
                siblings.append(Sibling(entry.path, kind, mark, s.st_ino, s.st_dev, s.st_size, s.st_mtime_ns))
    except OSError:
        pass
    return siblings


def written_since(files: Iterable[Sibling], since: int, after: Sibling | None = None) -> list[Sibling]:
    """Return the files that were last written at `since` or later, oldest first.

    Args:
        files: files in the folder of the path.
        since: time in nanoseconds.
        after: previous file at the path, if it is known.
    """
    later = [b for b in files if b.modified >= since]
    if after is not None:
        limit = _name_order(after)
        later = [b for b in later if b.modified > since or _name_order(b) > limit]
    return sorted(later, key=lambda b: (b.modified, _name_order(b)))


def is_named_later(file: Sibling, other: Sibling) -> bool:
    """Return whether a file's name shows that it was at the path after the other.

    False if one name has a number and the other a date, which cannot be compared.
    """
    alike = bool(_NUMBER.fullmatch(file.mark)) == bool(_NUMBER.fullmatch(other.mark))
    return alike and _name_order(file) > _name_order(other)


def _name_order(file: Sibling) -> tuple[int, list[int], str]:
    """Return a sort key for names, oldest first: small numbers descend, as with logrotate; dates and suffixes ascend."""
    small = _NUMBER.fullmatch(file.mark)
    if small:
        return -int(small[1]), [], ""
    return 0, [int(n) for n in re.findall(r"\d+", file.mark)], file.mark
