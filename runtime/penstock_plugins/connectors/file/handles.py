"""Open files by device and inode: a file that was renamed or deleted can be read as long as it is open."""

import os
import pwd
import stat
import threading
from typing import Final

from penstock import ConnectError, RetriableError

__all__ = ["Handle", "borrow", "find_in_folder", "open_again", "open_at", "open_regular", "user_name"]

_OPEN: Final[dict[tuple[int, int], list["Handle"]]] = {}
_LOCK: Final = threading.Lock()


class Handle:
    """Regular file, open for reading until `close`. Other parts of the process use it with `borrow`."""

    __slots__ = ("_away", "device", "fd", "inode", "path")

    def __init__(self, path: str, fd: int) -> None:
        status = os.fstat(fd)
        self.path = path
        self.fd = fd
        self.device = status.st_dev
        self.inode = status.st_ino
        self._away = False
        with _LOCK:
            _OPEN.setdefault((self.device, self.inode), []).append(self)

    def size(self) -> int:
        """Return the size in bytes."""
        return os.fstat(self.fd).st_size

    def state(self) -> tuple[int, int]:
        """Return the size in bytes, and the time of the last write in nanoseconds."""
        status = os.fstat(self.fd)
        return status.st_size, status.st_mtime_ns

    def modified(self) -> int:
        """Return the time of the last write in nanoseconds."""
        return os.fstat(self.fd).st_mtime_ns

    def current_path(self) -> str | None:
        """Return the current path: as opened, or another one in the same folder; None if the file was moved out of it."""
        if not self._away:
            try:
                status = os.stat(self.path)  # noqa: PTH116
                if (status.st_dev, status.st_ino) == (self.device, self.inode):
                    return self.path
            except OSError:
                pass
            path = find_in_folder(self.path, self.device, self.inode)
            self._away = path is None
            self.path = path or self.path
        return None if self._away else self.path

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        with _LOCK:
            if self.fd < 0:
                return
            same = _OPEN[self.device, self.inode]
            same.remove(self)
            if not same:
                del _OPEN[self.device, self.inode]
            os.close(self.fd)
            self.fd = -1


def borrow(device: int, inode: int) -> int | None:
    """Return a new descriptor for a file that is open in this process; None if it is not open. The caller closes it."""
    with _LOCK:
        handles = _OPEN.get((device, inode))
        return os.dup(handles[0].fd) if handles else None


def open_regular(path: str) -> int:
    """Open a regular file. Return a descriptor for reading.

    Raises:
        FileNotFoundError, NotADirectoryError: the file or its directory does not exist.
        ConnectError: it is not a regular file, or there is no permission to read it.
    """
    try:
        # Without O_NONBLOCK, opening a FIFO would wait for a writer.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except PermissionError as e:
        raise ConnectError(
            f"cannot read file {path}: user {user_name()} has no permission; give that user read permission on it, and "
            f"search (x) permission on the directories above it"
        ) from e
    except OSError as e:
        raise ConnectError(f"cannot open file {path}: {e.strerror}") from e
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
    raise ConnectError(f"{path} is {kind}; property `file` must name a file.")


def open_at(path: str, device: int, inode: int) -> Handle | None:
    """Open the file at `path`, if it has this inode; otherwise return None.

    Raises:
        OSError: the file cannot be opened.
    """
    try:
        handle = Handle(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except FileNotFoundError:
        return None
    if (handle.device, handle.inode) == (device, inode):
        return handle
    handle.close()
    return None


def open_again(path: str, device: int, inode: int) -> int:
    """Open the file with this inode: at `path`, or under another name in the same directory. Return its descriptor.

    Raises:
        RetriableError: the file does not exist, or no longer exists.
    """
    for candidate in (path, find_in_folder(path, device, inode)):
        if candidate is None:
            continue
        try:
            fd = os.open(candidate, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            continue
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) == (device, inode):
            return fd
        os.close(fd)
    raise RetriableError(
        f"cannot read file {path} (inode {inode}): it was moved or deleted after the batch was planned"
    )


def find_in_folder(path: str, device: int, inode: int) -> str | None:
    """Return the path of the file with this inode in the directory of `path`, or None. It may have any name."""
    try:
        with os.scandir(os.path.dirname(path) or ".") as entries:  # noqa: PTH120
            for entry in entries:
                if entry.inode() == inode and entry.stat(follow_symlinks=False).st_dev == device:
                    return entry.path
    except OSError:
        return None
    return None


def user_name() -> str:
    """Return the name of the user of this process, or its id if it has no name."""
    user = os.geteuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"with id {user}"
