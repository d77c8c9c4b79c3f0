"""Child processes that end with their parent, whatever ends it (on Linux; elsewhere the end of a pipe must do)."""

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
_POLL = 0.01
_GONE = 1.0  # seconds within which a killed process is gone, unless it is blocked in the kernel


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to send this process SIGTERM when the parent's thread that started it ends.

    Args:
        parent: its process id, as the parent said when it started this one, since it may have ended before this process
            could ask; None: the present one.
    """
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid() if parent is None else parent
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it had ended before `prctl`
        os.kill(os.getpid(), signal.SIGTERM)


def kill_children() -> None:
    """Kill all descendants of this process at once, and return when they are gone.

    They are stopped first; otherwise one that is killed later would log the end of one that was killed before.
    """
    for _ in range(_ROUNDS):  # a child that is just starting may have started another
        children = [p for p in psutil.Process().children(recursive=True) if _lives(p)]
        if not children:
            return
        for end in (psutil.Process.suspend, psutil.Process.kill):
            for child in children:
                with suppress(psutil.Error):
                    end(child)
        deadline = time.monotonic() + _GONE
        while any(map(_lives, children)) and time.monotonic() < deadline:
            time.sleep(_POLL)  # psutil's own `wait` would take the exit codes that `subprocess` waits for


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
