"""Output for the user of a demo, on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Steps", "say"]


def say(text: str) -> None:
    """Print a line for the user."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class Steps:
    """Printer of steps with their times.

    While `penstock run` draws a table on the terminal, steps are buffered, and printed when the table has ended.

    Args:
        begun: start of the demo, in seconds of the monotonic clock.
    """

    def __init__(self, begun: float) -> None:
        self._begun = begun
        self._later: list[str] = []
        self._keeps = False

    def note(self, text: str) -> None:
        """Print a step, now or when the table has ended."""
        line = f"{time.monotonic() - self._begun:7.1f} s {text}"
        if self._keeps:
            self._later.append(line)
        else:
            say(line)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Buffer steps until the end of the context if this is a terminal, on which a table is drawn."""
        self._keeps = sys.stderr.isatty()
        try:
            yield
        finally:
            self._keeps = False
            for line in self._later:
                say(line)
            self._later.clear()
