"""Files that lie beside a path and may have had it as theirs: what their names say, and in which order they had it.

Names alone do not tell: `app.log.1` is the newest under logrotate and the oldest under Log4j. The order is that of the
last writes; names decide between files that were last written at the same moment.
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
    """What a name makes of a file that lies beside the path `app.log`."""

    AFTER = "app.log.1, app.log-20261122, app.log.old"
    INSIDE = "app.1.log, app-2026-11-22.log: also what independent files are called"
    OTHER = "app.log.1.gz, app.log.bak, app.log.lock"


@dataclass(frozen=True, slots=True)
class Sibling:
    """A file beside the path.

    Attributes:
        mark: what its name has more than the path's.
        modified: when it was last written, in nanoseconds.
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
        """By its name."""
        return bool(_COMPRESSED.search(self.mark))


def rotation_name(name: str, other: str) -> tuple[RotationName, str] | None:
    """What the name of another file says beside that of the path, and what it has more; None where it says nothing."""
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
    packed = mark.rpartition(extension)
    known = _ROTATED.fullmatch(packed[0]) and _COMPRESSED.fullmatch(packed[2])
    return (RotationName.OTHER, mark) if known else None


def folders_of(path: str) -> list[tuple[str, frozenset[str]]]:
    """Folders in which files of this path may lie, with the names that they go by: a link's own and its target's."""
    folder, name = os.path.split(path)
    folders = {folder or ".": {name}}
    if os.path.islink(path):  # noqa: PTH114
        target = os.path.realpath(path)
        folders.setdefault(os.path.dirname(target), set()).update({name, os.path.basename(target)})  # noqa: PTH119, PTH120
    return [(f, frozenset(names)) for f, names in folders.items()]


def folder_times(path: str) -> tuple[int, ...]:
    """Another one whenever files have come, gone or changed their names beside the path."""
    found = []
    for folder, _ in folders_of(path):
        try:
            found.append(os.stat(folder).st_mtime_ns)  # noqa: PTH116
        except OSError:
            found.append(-1)
    return tuple(found)


def list_siblings(path: str, inodes: Iterable[int] = ()) -> list[Sibling]:
    """The regular files beside a path whose names begin like its own, and those with these inodes whatever their names.

    A folder that is renamed in meanwhile is listed again. One that cannot be listed counts as empty.
    """
    wanted = frozenset(inodes)
    for _ in range(_MAX_LISTINGS):
        before = folder_times(path)
        found = [b for folder, names in folders_of(path) for b in _list_folder(folder, names, wanted)]
        if folder_times(path) == before:
            break
    return list({(b.device, b.inode): b for b in reversed(found)}.values())


def _list_folder(folder: str, names: frozenset[str], inodes: frozenset[int]) -> list[Sibling]:
    found = []
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
                    continue  # it is gone
                kind, mark = (
                    min(kinds, key=lambda k: list(RotationName).index(k[0])) if kinds else (RotationName.OTHER, "")
                )
                found.append(Sibling(entry.path, kind, mark, s.st_ino, s.st_dev, s.st_size, s.st_mtime_ns))
    except OSError:
        pass
    return found


def written_since(files: Iterable[Sibling], since: int, after: Sibling | None = None) -> list[Sibling]:
    """Those that were last written at `since` or later, oldest first.

    Args:
        files: beside the path.
        since: nanoseconds.
        after: the file that had the path before them, where it is known.
    """
    later = [b for b in files if b.modified >= since]
    if after is not None:
        limit = _name_order(after)
        later = [b for b in later if b.modified > since or _name_order(b) > limit]
    return sorted(later, key=lambda b: (b.modified, _name_order(b)))


def is_named_later(file: Sibling, other: Sibling) -> bool:
    """Whether the name of a file says that it had the path after the other one; not between a number and a date."""
    alike = bool(_NUMBER.fullmatch(file.mark)) == bool(_NUMBER.fullmatch(other.mark))
    return alike and _name_order(file) > _name_order(other)


def _name_order(file: Sibling) -> tuple[int, list[int], str]:
    """A small number counts downwards, as logrotate has it; dates, and what stands behind them, count upwards."""
    small = _NUMBER.fullmatch(file.mark)
    if small:
        return -int(small[1]), [], ""
    return 0, [int(n) for n in re.findall(r"\d+", file.mark)], file.mark
