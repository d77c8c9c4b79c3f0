"""Append complete lines to a file, and sync it to disk."""

import logging
import mmap
import os
import stat
from contextlib import suppress

from penstock import ConnectError, RetriableError
from penstock_plugins.connectors.file.handles import open_again, user_name

__all__ = ["CurrentFile", "LineFile", "make_durable"]

log = logging.getLogger(__name__)

_AT_ONCE = 1 << 30
"""Maximum number of bytes in one write. Linux writes at most 2 GiB in one call."""


class LineFile:
    """File at a path, open for appending; created if it does not exist.

    If the last line is incomplete, because its writer was killed, a line ending is appended first.

    Raises:
        ConnectError: the file cannot be opened; the message names the remedy.
        RetriableError: the device is full.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = _open(path)
        try:
            status = os.fstat(self._fd)
            self.device = status.st_dev
            self.inode = status.st_ino
            size = status.st_size
            if size and os.pread(self._fd, 1, size - 1) != b"\n":
                log.warning(
                    "File %s ends in the middle of a line: its writer was killed, or another process writes to it. "
                    "A newline is added. The record of that line is written again if it was not committed.",
                    path,
                )
                self.append(b"\n")
        except BaseException:
            self.close()
            raise

    def is_current(self) -> bool:
        """Return whether the path still refers to this file: it was not rotated or deleted."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 (called for every batch)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == (self.device, self.inode)

    def append(self, data: bytes | mmap.mmap) -> None:
        """Append all bytes or none.

        Raises:
            RetriableError: the device is full, or fails. A partial write is truncated again, unless another process has
                appended to the file since.
        """
        before = os.fstat(self._fd).st_size
        size = written = len(data)
        try:
            with memoryview(data) as view:
                written = 0
                while written < size:
                    written += os.write(self._fd, view[written : written + _AT_ONCE])
        except OSError as e:
            rest = self._truncate_back(before, written)
            raise RetriableError(f"cannot write {len(data)} bytes to file {self._path}: {e.strerror}{rest}") from e

    def _truncate_back(self, before: int, written: int) -> str:
        if not written:
            return ""
        try:
            if os.fstat(self._fd).st_size == before + written:
                os.ftruncate(self._fd, before)
                return ""
            why = "another process has appended to the file since"
        except OSError as e:
            why = str(e.strerror)
        return f"; {written} bytes of them stay in the file ({why}), and the records are written again"

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class CurrentFile:
    """File that is at the path now: after a rotation, the new file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: LineFile | None = None

    def get(self) -> LineFile:
        """Return the file, reopened if it was rotated. Raises the errors of `LineFile`."""
        if self._file is not None and not self._file.is_current():
            self.close()
        if self._file is None:
            self._file = LineFile(self._path)
        return self._file

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None


def make_durable(path: str, device: int, inode: int) -> None:
    """Wait until everything that any process has written to the file with this inode is on disk.

    Raises:
        ConnectError: the disk fails. A retry cannot help: the kernel drops data that it could not write, so the next
            call would succeed without that data.
    """
    try:
        try:
            fd = open_again(path, device, inode)
        except RetriableError:
            log.warning("File %s was moved to another directory or deleted; syncing all files to disk.", path)
            os.sync()
            return
        try:
            os.fdatasync(fd)
        finally:
            os.close(fd)
    except OSError as e:
        raise ConnectError(
            f"cannot sync file {path} to disk: {e.strerror}. Its last records are not committed, and are written again "
            f"after a restart."
        ) from e


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            fd = os.open(path, flags | os.O_CREAT, 0o666)
            _sync_folder(path)
    except FileNotFoundError as e:
        folder = os.path.dirname(path) or "."  # noqa: PTH120
        raise ConnectError(
            f"cannot open {path}: directory {folder} does not exist; create it, or correct `file`"
        ) from e
    except PermissionError as e:
        raise ConnectError(
            f"cannot write file {path}: user {user_name()} has no permission; give that user read and write permission on "
            f"it (on its directory if the file must be created)"
        ) from e
    except IsADirectoryError as e:
        raise ConnectError(f"{path} is a directory; property `file` must name a file.") from e
    except OSError as e:
        raise ConnectError(f"cannot open file {path} for writing: {e.strerror}") from e
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ConnectError(
            f"cannot write file {path}: it is not a regular file, so writes to it would not be durable; correct `file`"
        )
    return fd


def _sync_folder(path: str) -> None:
    """Make the name of a new file durable by syncing its directory, if there is permission to open it."""
    with suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC)  # noqa: PTH120
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
