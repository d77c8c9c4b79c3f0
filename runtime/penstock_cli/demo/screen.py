"""Lines for the user of a demo, on standard error."""

import sys
import time

__all__ = ["Steps", "say"]


def say(text: str) -> None:
    """Print a line for the user."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class Steps:
    """Printer of steps with their times.

    `penstock run` draws a table on a terminal, so steps are printed there when the table has ended.

    Args:
        begun: start of the demo, monotonic.
    """

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._later: list[str] = []
        self._waits = sys.stderr.isatty()

    def note(self, text: str) -> None:
        """Print a step, now or at the end."""
        line = f"{time.monotonic() - self._begun:7.1f} s {text}"
        if self._waits:
            self._later.append(line)
        else:
            say(line)

    def end(self) -> None:
        """Print what has not been printed, and from now on each step at once."""
        self._waits = False
        for line in self._later:
            say(line)
        self._later.clear()
