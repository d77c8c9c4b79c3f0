"""Unpack untrusted archives of plugins: nothing is written outside of the folder, and the size is limited.

Only folders and regular files are written, and only the executable bit of their modes is preserved. A link becomes a copy of
its target, which must be in the archive, so that no link is ever on disk.
"""

import errno
import gzip
import io
import lzma
import posixpath
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Final

from penstock.errors import ConfigError

__all__ = ["ENDINGS", "unpack"]

ENDINGS: Final = (".zip", ".tar.gz", ".tgz")
"""File name suffixes of supported archives."""

_MOST_BYTES: Final = 2 << 30
_TOO_LARGE: Final = f"it has more than {_MOST_BYTES >> 30} GiB when unpacked"
_MOST_ENTRIES: Final = 20_000
_DEEPEST: Final = 50
_LARGEST_HEADER: Final = 1 << 20
"""Maximum bytes of one read: tarfile reads the headers of long names completely, regardless of their claimed length."""
_LONGEST_TARGET: Final = 4096
_BROKEN: Final = (
    *(EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError),
    *(struct.error, OverflowError, ValueError, RuntimeError),
)
"""Errors of the standard library for a file that is truncated, damaged, encrypted, or not an archive."""
_OF_CONTENT: Final = (None, errno.EINVAL)
"""`errno` of an OSError that the content causes: errors of gzip and bz2 have none, and a negative offset is EINVAL."""


def unpack(archive: Path, folder: Path) -> None:
    """Write the contents of an archive into a new folder.

    Raises:
        ConfigError: the archive is damaged, or has harmful contents. The folder may contain a part of it.
        OSError: the archive cannot be read, or a file cannot be written.
    """
    folder.mkdir()
    tree = _Tree(folder)
    try:
        if archive.suffix == ".zip":
            _unpack_zip(archive, tree)
        else:
            _unpack_tar(archive, tree)
        tree.copy_linked()
    except _Refused as e:
        problem = (
            f"cannot unpack the plugin archive {archive}: {e}; if you trust it, unpack it yourself and use the folder"
        )
        raise ConfigError(problem) from e
    except (*_BROKEN, OSError) as e:
        if isinstance(e, OSError) and e.errno not in _OF_CONTENT:
            raise
        raise ConfigError(f"cannot unpack the plugin archive {archive}: {e}; download it again") from e


class _Refused(Exception):
    """Raised when the archive has contents that must not be unpacked."""


@dataclass
class _Tree:
    """Folder that an archive is unpacked into.

    Attributes:
        folder: root folder; everything is written below it.
        files: sizes of the files written so far.
        folders: all folders so far.
        links: targets of links.
        size: total size of all files.
    """

    folder: Path
    files: dict[PurePosixPath, int] = field(default_factory=dict)
    folders: set[PurePosixPath] = field(default_factory=lambda: {PurePosixPath()})
    links: dict[PurePosixPath, PurePosixPath] = field(default_factory=dict)
    size: int = 0

    def add_folder(self, name: str) -> None:
        path = _within(name)
        self._check_new(path)
        self.folders.update((path, *path.parents))
        (self.folder / path).mkdir(parents=True, exist_ok=True)

    def add_file(self, name: str, size: int, content: IO[bytes], mode: int) -> None:
        path = self._new(name)
        self._count(size)
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            shutil.copyfileobj(content, file)
        target.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
        self.files[path] = size

    def add_link(self, name: str, target: str, base: PurePosixPath | None = None) -> None:
        """Record a link. Its target is relative to its folder or, if given, to `base`, the root of the archive."""
        path = self._new(name)
        leads_to = PurePosixPath(posixpath.normpath(posixpath.join(path.parent if base is None else base, target)))
        if leads_to.is_absolute() or leads_to.parts[:1] == ("..",):
            raise _Refused(f"{_shown(name)} is a link to {_shown(target)}, which is outside of the archive")
        self.links[path] = leads_to

    def copy_linked(self) -> None:
        """Write a copy of the target file for each link."""
        for link in self.links:
            target, passed = self.links[link], {link}
            while target in self.links and target not in passed:
                passed.add(target)
                target = self.links[target]
            if target not in self.files:
                raise _Refused(
                    f"{_shown(str(link))} is a link to {_shown(str(self.links[link]))}, which is not a file in the archive"
                )
            self._count(self.files[target])
            (self.folder / link).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / target, self.folder / link)

    def _new(self, name: str) -> PurePosixPath:
        path = _within(name)
        self._check_new(path)
        if path in self.folders:
            raise _Refused(f"it contains {_shown(name)} twice")
        self.folders.update(path.parents)
        return path

    def _check_new(self, path: PurePosixPath) -> None:
        for each in (path, *path.parents):
            if each in self.files or each in self.links:
                raise _Refused(f"it contains {_shown(str(each))} twice")
        if len(self.files) + len(self.links) + len(self.folders) > _MOST_ENTRIES:
            raise _Refused(f"it contains more than {_MOST_ENTRIES:,} files and folders")

    def _count(self, size: int) -> None:
        self.size += size
        if size < 0 or self.size > _MOST_BYTES:
            raise _Refused(_TOO_LARGE)


class _Bounded(io.RawIOBase):
    """Decompressed stream of a tar file; raises an error if it exceeds the size limit."""

    def __init__(self, content: gzip.GzipFile) -> None:
        self._content = content

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_HEADER:
            raise _Refused("it has a header of more than 1 MiB")
        self._check(self.tell() + size)
        return self._content.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        assert whence == io.SEEK_SET
        self._check(offset)
        return self._content.seek(offset)

    def tell(self) -> int:
        return self._content.tell()

    def drain(self) -> None:
        """Read the rest, including the checksum at the end."""
        while self.read(_LARGEST_HEADER):
            pass

    def _check(self, position: int) -> None:
        if position > _MOST_BYTES + _LARGEST_HEADER:
            raise _Refused(_TOO_LARGE)


def _unpack_tar(archive: Path, tree: _Tree) -> None:
    with gzip.open(archive) as plain:
        content = _Bounded(plain)
        with tarfile.open(fileobj=content, mode="r:") as tar:
            for member in tar:
                if member.isdir():
                    tree.add_folder(member.name)
                elif member.issym():
                    tree.add_link(member.name, member.linkname)
                elif member.islnk():
                    tree.add_link(member.name, member.linkname, PurePosixPath())
                elif member.isreg() and not member.issparse():
                    file = tar.extractfile(member)
                    assert file is not None
                    tree.add_file(member.name, member.size, file, member.mode)
                else:
                    raise _Refused(f"it contains {_shown(member.name)}, which is neither a file nor a folder")
        content.drain()


def _unpack_zip(archive: Path, tree: _Tree) -> None:
    with zipfile.ZipFile(archive) as content:
        for entry in content.infolist():
            mode = entry.external_attr >> 16
            if entry.is_dir():
                tree.add_folder(entry.filename)
                continue
            with content.open(entry) as file:
                if stat.S_ISLNK(mode):
                    target = file.read(_LONGEST_TARGET).decode("utf-8", "surrogateescape")
                    tree.add_link(entry.filename, target)
                elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
                    tree.add_file(entry.filename, entry.file_size, file, mode)
                else:
                    raise _Refused(f"it contains {_shown(entry.filename)}, which is neither a file nor a folder")


def _within(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise _Refused(f"it contains {_shown(name)}, a path outside of the archive")
    if len(path.parts) > _DEEPEST:
        raise _Refused(f"it contains paths with more than {_DEEPEST} levels")
    return path


def _shown(name: str) -> str:
    """Return an untrusted name, quoted and truncated for a message."""
    return repr(name) if len(name) <= 200 else f"{name[:200]!r}..."
