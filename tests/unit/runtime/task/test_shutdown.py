"""SIGTERM is handled at any point of the main thread."""

import signal
import subprocess
import sys
from typing import Final

import pytest

_COMES_WHILE_THE_LOCK_IS_HELD: Final = """
import os, signal
from penstock_runtime.task.shutdown import GracefulShutdown
stopping = GracefulShutdown()
with stopping.asked._cond:  # where `wait` is for a moment, each time that it is called
    os.kill(os.getpid(), signal.SIGTERM)
    sum(range(1000))  # Python's handlers run between two steps of this
assert stopping.asked.wait(10)
os._exit(7)
"""
_THE_DESCRIPTOR_IS_TAKEN_AWAY: Final = """
import os, signal
from penstock_runtime.task.shutdown import GracefulShutdown
stopping = GracefulShutdown()
signal.set_wakeup_fd(-1)  # as asyncio does when a loop of its own ends
os.kill(os.getpid(), signal.SIGTERM)
assert stopping.asked.wait(10)
os._exit(7)
"""
_A_FORKED_PROCESS: Final = """
import multiprocessing, os, signal, time
from penstock_runtime.task.shutdown import GracefulShutdown
stopping = GracefulShutdown()
child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
child.start()
child.terminate()
child.join(10)
assert child.exitcode == -signal.SIGTERM
assert not stopping.asked.wait(0.3)
os._exit(7)
"""
_DOES_NOT_END: Final = """
import os, signal, time
import penstock_runtime.task.shutdown as module
module._LAST_RESORT = 0
stopping = module.GracefulShutdown()
stopping.within(0.3, lambda: os._exit(8) if {leaves} else time.sleep(60))
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""


def _code(program: str) -> int:
    return subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode


def test_signal_during_a_check_of_the_main_thread_is_handled() -> None:
    assert _code(_COMES_WHILE_THE_LOCK_IS_HELD) == 7


def test_signal_is_handled_after_the_wakeup_descriptor_was_replaced() -> None:
    assert _code(_THE_DESCRIPTOR_IS_TAKEN_AWAY) == 7


def test_signal_ends_a_process_forked_by_a_plugin_and_nothing_else() -> None:
    assert _code(_A_FORKED_PROCESS) == 7


@pytest.mark.parametrize(("leaves", "code"), [(True, 8), (False, -signal.SIGALRM)])
def test_process_that_does_not_end_is_abandoned_and_finally_ended_by_the_kernel(leaves: bool, code: int) -> None:
    assert _code(_DOES_NOT_END.format(leaves=leaves)) == code
