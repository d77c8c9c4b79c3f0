"""Writer of a folder as an image layer: a tar file whose bytes depend only on names, contents and execute bits."""

import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from penstock.errors import ConfigError

__all__ = ["is_bytecode", "write_layer"]

_SPECIAL: Final = {
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def write_layer(folder: Path, to: BinaryIO, base: PurePosixPath) -> None:
    """Write all files of a folder to an uncompressed tar file, with their paths in an image.

    Owners, times, modes other than the execute bit, and Python's bytecode are omitted: they are not part of the folder's
    contents. Links within the folder are kept, and become relative.

    Args:
        folder: folder with the files.
        to: empty file that is open for writing and can seek.
        base: folder in the image.

    Raises:
        ConfigError: the folder has a link that is broken or leads out of it, or an entry that is neither a file nor a
            folder. The message names it.
        OSError: a file cannot be read or written.
    """
    root = Path(os.path.realpath(folder))
    # PAX, because USTAR has no room for long paths; what fits into USTAR is written as USTAR would.
    with tarfile.open(fileobj=to, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8") as layer:
        layer.addfile(_member(base, tarfile.DIRTYPE, 0o755))
        for entry in _entries(root):
            _add(layer, entry, root, base)


def is_bytecode(name: str) -> bool:
    """Return whether a file or folder of this name contains compiled Python code, which differs from build to build."""
    return name == "__pycache__" or name.endswith(".pyc")


def _entries(folder: Path) -> Iterator[Path]:
    """Yield all paths in a folder, each folder before its contents, in an order independent of locale and file system."""
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        if is_bytecode(path.name):
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _entries(path)


def _add(layer: tarfile.TarFile, path: Path, root: Path, base: PurePosixPath) -> None:
    name, mode = base / path.relative_to(root), path.lstat().st_mode
    if stat.S_ISDIR(mode):
        layer.addfile(_member(name, tarfile.DIRTYPE, 0o755))
    elif stat.S_ISLNK(mode):
        member = _member(name, tarfile.SYMTYPE, 0o777)
        member.linkname = _link(path, root)
        layer.addfile(member)
    elif stat.S_ISREG(mode):
        # Only the owner's bit: no usual umask removes it.
        member = _member(name, tarfile.REGTYPE, 0o755 if mode & stat.S_IXUSR else 0o644)
        with path.open("rb") as content:
            member.size = os.fstat(content.fileno()).st_size
            layer.addfile(member, content)
    else:
        raise ConfigError(
            f"cannot write an image of {root}: {path.relative_to(root)} is {_SPECIAL.get(stat.S_IFMT(mode), 'not a file')}; "
            "remove it, because an image has only files, folders and links between them"
        )


def _member(name: PurePosixPath, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(str(name))  # mtime, uid and gid are 0, and there are no names of owners
    member.type, member.mode = kind, mode
    return member


def _link(link: Path, root: Path) -> str:
    """Return the target of a link, relative to its folder: an absolute path of this machine is invalid in the image."""
    shown = f"cannot write an image of {root}: {link.relative_to(root)} is a link to {link.readlink()}"
    try:
        target = Path(os.path.realpath(link, strict=True))
    except OSError as e:
        raise ConfigError(f"{shown}, which is broken ({e.strerror}); remove it, or create its target") from e
    if not target.is_relative_to(root):
        raise ConfigError(
            f"{shown}, which is outside the folder and would be missing in the image; replace the link with a copy"
        )
    return os.path.relpath(target, link.parent)
