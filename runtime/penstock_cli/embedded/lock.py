"""Lock of a data folder: one process at a time.

There are two locks for two processes: the *owner* runs the broker, and the *broker* may outlive a killed owner for the
second that a graceful shutdown takes. The broker inherits its lock, so the lock is free exactly when the last broker is
gone.
"""

import fcntl
import os
import select
import time
from pathlib import Path

from penstock.errors import ConnectError

__all__ = ["FolderInUse", "FolderLock"]

_ORPHAN_PATIENCE = 30.0  # seconds


class FolderInUse(ConnectError):
    """Raised when another process runs a broker on the folder."""


class FolderLock:
    """Exclusive right to run a broker on a data folder, held from `acquire` to `release`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = -1
        self._broker = -1

    @property
    def inheritable(self) -> int:
        """Return the descriptor that the broker keeps open while it lives."""
        return self._broker

    def acquire(self) -> None:
        """Lock the folder; wait for a broker whose owner was killed.

        Raises:
            FolderInUse: another process has the folder; the message names both.
            ConnectError: a broker whose owner is gone does not exit.
        """
        try:
            self._owner = _open(self._folder / "owner.lock")
            self._own()
            self._broker = _open(self._folder / "broker.lock")
            self._await_orphan()
        except BaseException:
            self.release()
            raise

    @property
    def taken(self) -> bool:
        """Return whether some process owns the folder."""
        try:
            descriptor = os.open(self._folder / "owner.lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not _try_lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def name_broker(self, pid: int) -> None:
        """Record the broker's process id, so that a later owner can wait for its end."""
        _write(self._broker, pid)

    def release(self) -> None:
        """Release the folder. Does nothing if it is not held."""
        for descriptor in (self._broker, self._owner):
            if descriptor >= 0:
                os.close(descriptor)
        self._broker = self._owner = -1

    def _own(self) -> None:
        if not _try_lock(self._owner):
            raise FolderInUse(
                f"cannot use the data folder {self._folder}: it is in use by process {_holder(self._owner)}; "
                "stop that process or choose another data folder"
            )
        _write(self._owner, os.getpid())

    def _await_orphan(self) -> None:
        deadline = time.monotonic() + _ORPHAN_PATIENCE
        while not _try_lock(self._broker):
            pid = _holder(self._broker)
            if (left := deadline - time.monotonic()) <= 0:
                raise ConnectError(
                    f"cannot use the data folder {self._folder}: it is in use by the broker of an earlier run, process "
                    f"{pid}; kill it (kill -9 {pid}) and start again"
                )
            _await_end(pid, left)
        _write(self._broker, 0)  # until the new broker's pid is written, no process may wait for the old one's


def _await_end(pid: int, seconds: float) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        # Its owner was killed before it wrote the process id: the only case without an event to wait for.
        time.sleep(0.02)
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(descriptor: int, pid: int) -> None:
    os.pwrite(descriptor, f"{pid:<20}".encode(), 0)


def _holder(descriptor: int) -> int:
    text = os.pread(descriptor, 20, 0).strip()
    return int(text) if text.isdigit() else 0
