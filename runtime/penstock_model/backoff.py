"""Delays before retries. Pure."""

from dataclasses import dataclass

__all__ = ["ExponentialBackoff"]


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """Delays that grow with each consecutive failure, up to a maximum.

    Attributes:
        first: seconds after the first failure.
        longest: maximum delay in seconds.
        factor: ratio of each delay to the previous one.
        jitter: largest random reduction of a delay, as a fraction of it.
    """

    first: float
    longest: float
    factor: float = 2.0
    jitter: float = 0.0

    def pause(self, failures: int, chance: float = 1.0) -> float:
        """Return the seconds to wait after this many (at least 1) consecutive failures; `chance`, 0 to 1, spreads delays."""
        try:
            pause: float = min(self.longest, self.first * self.factor ** (failures - 1))
        except OverflowError:
            pause = self.longest
        return pause * (1 - self.jitter + self.jitter * chance)
