"""Children that do not outlive their parent, whatever ends the parent (Linux; elsewhere the pipe's end must do)."""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress

import psutil

__all__ = ["die_with_parent", "kill_children"]

_PR_SET_PDEATHSIG = 1
_ROUNDS = 5
_LOOK = 0.01
_END = 1.0  # seconds in which a process that was killed is gone, unless the kernel itself is busy with it


def die_with_parent(number: int = signal.SIGTERM) -> None:
    """Ask the kernel to send this process a signal when its parent's thread ends."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:  # it ended before we asked
        os.kill(os.getpid(), number)


def kill_children() -> None:
    """End every process that this one has started, and those that they have, at once; return when they are gone.

    They are stopped first: of those that are killed one after the other, the last would tell of the first.
    """
    for _ in range(_ROUNDS):  # one that is just starting may have started another
        children = [p for p in psutil.Process().children(recursive=True) if _lives(p)]
        if not children:
            return
        for end in (psutil.Process.suspend, psutil.Process.kill):
            for child in children:
                with suppress(psutil.Error):
                    end(child)
        deadline = time.monotonic() + _END
        while any(map(_lives, children)) and time.monotonic() < deadline:
            time.sleep(_LOOK)  # psutil's own wait would take their exit codes away from who started them


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
