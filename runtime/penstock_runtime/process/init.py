"""First process of a container: forwards signals, reaps orphans, and exits with the code of its child, which does the work.

The kernel drops every signal to process 1 that has no handler, including `SIGALRM`, the last resort of a shutdown, and a
SIGTERM that arrives while Python starts. The kernel also makes process 1 the parent of all orphans, which only a parent can
reap. So process 1 forks before it imports anything, and does nothing else. This module imports only the standard library.
"""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

__all__ = ["work_under_init"]

_PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def work_under_init() -> None:
    """Fork in process 1: return in the child, and wait for its end in the parent. Do nothing in any other process."""
    if os.getpid() != 1:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)  # signals that arrive before the fork are forwarded after it
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        return
    for number in _PASSED_ON:
        signal.signal(number, lambda n, _: _send(child, n))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    status = _reap_until(child)
    sys.stdout.flush()
    os._exit(_explained(os.waitstatus_to_exitcode(status)))


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def _reap_until(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _explained(code: int) -> int:
    """Return the exit code of the container. If the process wrote no termination message, write one on its behalf.

    A process without a message did not end cleanly, so its exit code is replaced: 0 would count as a requested stop.
    """
    from penstock_model.contracts.exit_codes import ExitCode
    from penstock_model.contracts.task_reports import TerminationMessage
    from penstock_runtime.process import termination_message

    if code < 0:
        name = signal.Signals(-code).name
        why = " It may have used more memory than its limit." if -code == signal.SIGKILL else ""
        code, text = 128 - code, f"The process was killed by signal {-code} ({name}).{why}"
    elif termination_message.is_missing():
        text = (
            f"The process exited with code {code} in the middle of its work and reported no reason: a library or a "
            f"plugin has called os._exit, or Python could not start; see its log."
        )
        code = ExitCode.FAILED
    else:
        return code
    termination_message.write(TerminationMessage(exit_code=code, message=text))
    return code
