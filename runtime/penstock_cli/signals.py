"""Handling of Ctrl-C and SIGTERM in `penstock run`."""

import atexit
import os
import signal
from types import FrameType
from typing import Final

from penstock_cli.supervisor import Supervisor
from penstock_model.contracts.exit_codes import ExitCode

__all__ = ["Signals"]


_HANDLED: Final = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Handler of SIGINT and SIGTERM. The first signal stops the tasks, the second kills them, the third exits."""

    def __init__(self) -> None:
        self.count = 0
        self._supervisor: Supervisor | None = None
        for number in _HANDLED:
            signal.signal(number, self._handle)
        atexit.register(_ignore)

    @property
    def asked(self) -> bool:
        """Return whether a signal was received."""
        return self.count > 0

    def follow(self, supervisor: Supervisor) -> None:
        """Stop this supervisor when a signal is received, or now if one was received already."""
        self._supervisor = supervisor
        if self.asked:
            supervisor.stop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 2:
            os._exit(ExitCode.INTERRUPTED)
        if self._supervisor is not None:
            if self.count == 1:
                self._supervisor.stop()
            else:
                self._supervisor.kill()
        elif self.count > 1:
            os._exit(ExitCode.INTERRUPTED)


def _ignore() -> None:
    """Ignore both signals. The interpreter removes handlers at exit; a signal after that would change the exit code."""
    for number in _HANDLED:
        signal.signal(number, signal.SIG_IGN)
