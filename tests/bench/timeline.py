"""How a figure grew: its values with their moments and the CPU seconds spent until then.

The figure is looked at every few milliseconds, which costs the measured side nothing; which of the values was the last one
that counts is told afterwards, when the contents have been checked.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.bench.measured import Measured

__all__ = ["Moment", "Timeline"]

_EVERY: Final = 0.01
_QUIET: Final = 1.5


@dataclass(frozen=True)
class Moment:
    """A value, when it was first seen (monotonic seconds), and the CPU seconds of the measured side until then."""

    value: int
    at: float
    cpu: float


@dataclass
class Timeline:
    """Every value that was seen, in order."""

    moments: list[Moment] = field(default_factory=list)

    def follow(self, measured: Measured, look: Callable[[], int], *, at_least: int, patience: float = 600.0) -> None:
        """Look until the figure is `at_least` so large and stands still, for a second and a half.

        Raises:
            RuntimeError: the measured side ended, or the figure did not get there.
        """
        deadline = time.monotonic() + patience
        last = -1
        changed = time.monotonic()
        while True:
            begun = time.monotonic()
            value = look()
            now = time.monotonic()
            if value != last:
                self.moments.append(Moment(value, now, measured.tree.cpu()))
                last, changed = value, now
            elif last >= at_least and now - changed > _QUIET:
                return
            if now > deadline:
                raise RuntimeError(
                    f"{measured.name}: {last} of {at_least} after {patience:.0f} s\n{measured.log_end()}"
                )
            measured.check()
            time.sleep(max(0.0, _EVERY - (now - begun)))

    def first(self, value: int) -> Moment:
        """The first moment at which the figure was at least this."""
        return next(m for m in self.moments if m.value >= value)
