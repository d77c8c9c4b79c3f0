"""End child processes when their parent ends for any reason (on Linux; elsewhere, children detect a closed pipe)."""

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
_GONE = 1.0  # seconds within which a killed process ends, unless it is blocked in the kernel


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to send this process SIGTERM when the parent's thread that started it ends.

    Args:
        parent: process id of the parent, passed by the parent itself, since it may have ended before this call; None: the
            current parent.
    """
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid() if parent is None else parent
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it had ended before `prctl`
        os.kill(os.getpid(), signal.SIGTERM)


def kill_children() -> None:
    """Kill all descendants of this process together, and wait until they have ended, for at most a second per round.

    They are suspended first; otherwise one of them could log the end of another that was killed first.
    """
    for _ in range(_ROUNDS):  # a starting child may have started another
        children = [p for p in psutil.Process().children(recursive=True) if _is_alive(p)]
        if not children:
            return
        for end in (psutil.Process.suspend, psutil.Process.kill):
            for child in children:
                with suppress(psutil.Error):
                    end(child)
        deadline = time.monotonic() + _GONE
        while any(map(_is_alive, children)) and time.monotonic() < deadline:
            time.sleep(_POLL)  # psutil's `wait` would consume the exit codes that `subprocess` waits for


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
