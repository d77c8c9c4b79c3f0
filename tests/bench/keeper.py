"""Stands above a measured side: `python -I -S keeper.py PARENT COMMAND...`.

Every process that the command leaves behind becomes this one's child, so that CPU seconds of the dead stay in its account
and nothing outlives it: when it is asked to stop (SIGTERM), when the command ends, or when the benchmark dies, it kills all
that is left. It prints one line, the command's process id and the moment (CLOCK_MONOTONIC) at which it was started.

A program of its own, with nothing but the standard library, so that it costs next to nothing beside what is measured.
"""

import ctypes
import os
import signal
import sys
import time

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


class _Asked(Exception):
    pass


def main(parent: int, command: list[str]) -> int:
    """Start the command and stay until it and everything it started is gone."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return 1
    signal.signal(signal.SIGTERM, _ask)
    code = 1
    try:
        begun = time.monotonic()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.dup2(2, 1)
            os.execvp(command[0], command)
        os.write(1, f"{pid} {begun!r}\n".encode())
        os.close(1)
        while True:
            ended, status = os.waitpid(-1, 0)
            if ended == pid:
                code = os.waitstatus_to_exitcode(status)
                break
    except _Asked:
        pass
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _kill_all()
    return code & 0xFF


def _ask(*_: object) -> None:
    raise _Asked


def _kill_all() -> None:
    """Kill children until there are none: those of the dead become ours."""
    while True:
        for child in _children():
            os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, 0)[0]:
                for child in _children():
                    os.kill(child, signal.SIGKILL)
        except ChildProcessError:
            return


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123 (pathlib takes longer to import)
        return [int(word) for word in file.read().split()]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
