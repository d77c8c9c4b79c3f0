"""Ctrl-C and SIGTERM."""

import atexit
import os
import signal
from types import FrameType
from typing import Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.local.supervisor import Supervisor

__all__ = ["Signals"]


_HEARD: Final = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Hears them from now on: the first is graceful, the second immediate."""

    def __init__(self) -> None:
        self.count = 0
        self._supervisor: Supervisor | None = None
        for number in _HEARD:
            signal.signal(number, self._handle)
        atexit.register(_ignore)

    @property
    def asked(self) -> bool:
        """Whether somebody asked to stop."""
        return self.count > 0

    def follow(self, supervisor: Supervisor) -> None:
        """Tell this one."""
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
    """The interpreter takes handlers away while it ends; a signal would end the process then, with another exit code."""
    for number in _HEARD:
        signal.signal(number, signal.SIG_IGN)
