"""What runs in a child process before its program does: it ties the child's life to that of its parent.

Started as a script with nothing but the standard library, so that it takes a few milliseconds. It is a program of its own
because code between fork and exec is unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, at_its_end: int, command: list[str]) -> None:
    """Ask for a signal when the parent dies, ignore Ctrl-C, which is the parent's to answer, then become the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, at_its_end, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it died before the request was made
        sys.exit("the parent is gone")
    os.execv(command[0], command)  # noqa: S606 (no shell is wanted: the command is a list)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
