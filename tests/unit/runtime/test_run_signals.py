"""Ctrl-C and SIGTERM of `penstock run`."""

import signal
import subprocess
import sys

import pytest

ENDING = """
import os, sys
from penstock_cli.signals import Signals

class Last:
    def __del__(self, kill=os.kill, pid=os.getpid()):  # when the interpreter takes its modules apart
        kill(pid, {number})

signals, last = Signals(), Last()
sys.exit(3)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_while_the_interpreter_ends_leaves_the_exit_code_as_it_is(number: signal.Signals) -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING.format(number=int(number))], check=False, timeout=60)
    assert ended.returncode == 3
