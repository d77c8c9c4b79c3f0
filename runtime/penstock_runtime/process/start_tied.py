"""Launcher of child processes that end with their parent.

Runs as a script that imports only the standard library, so that it takes a few milliseconds. It is a separate program
because running code between fork and exec is unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, at_its_end: int, command: list[str]) -> None:
    """Request a signal when the parent ends, ignore Ctrl-C, which the parent handles, then execute the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, at_its_end, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it ended before the request
        sys.exit("the parent process has ended")
    os.execv(command[0], command)  # noqa: S606 (no shell is wanted: the command is a list)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
