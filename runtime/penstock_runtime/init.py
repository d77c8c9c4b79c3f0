"""The first process of a container: passes signals on, reaps orphans, ends as the process that does the work ended.

The kernel protects process 1 from every signal that it has no handler for, also from `SIGALRM`, our last resort, and from
a SIGTERM that comes while Python is still starting; and it makes process 1 the parent of all orphans, which nobody else
reaps. So process 1 forks, before it has imported anything, and does nothing else. Imports the standard library only.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

__all__ = ["TERMINATION_LOG_VARIABLE", "work_under_init"]

TERMINATION_LOG_VARIABLE: Final = "PENSTOCK_TERMINATION_LOG"
"""Where the last word goes in the place of `pod_layout.TERMINATION_LOG`."""
_PASSED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def work_under_init() -> None:
    """In process 1: return in a child, and stay its parent to the end. In any other process: return."""
    if os.getpid() != 1:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED)  # what comes before there is a child is passed on afterwards
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED)
        return
    for number in _PASSED:
        signal.signal(number, lambda n, _: _send(child, n))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED)
    status = _reap_until(child)
    if os.WIFSIGNALED(status):
        _last_word(os.WTERMSIG(status))
    sys.stdout.flush()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _reap_until(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _last_word(number: int) -> None:
    """What a process that a signal ended could not say itself."""
    from penstock_model.contracts.task_reports import TerminationMessage
    from penstock_runtime.task.pod import termination_message

    name = signal.Signals(number).name
    why = " It may have used more memory than its limit." if number == signal.SIGKILL else ""
    termination_message.leave(
        TerminationMessage(exit_code=128 + number, message=f"The process was ended by signal {number} ({name}).{why}")
    )
