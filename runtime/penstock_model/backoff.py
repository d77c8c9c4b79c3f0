"""How long to wait before what failed is tried again. Pure."""

from dataclasses import dataclass

__all__ = ["ExponentialBackoff"]


@dataclass(frozen=True, slots=True)
class ExponentialBackoff:
    """Pauses that grow with each failure in a row, up to the longest.

    Attributes:
        first: seconds after the first failure.
        longest: seconds.
        factor: by which each pause is longer than the one before.
        jitter: the part of a pause that chance may shorten it by.
    """

    first: float
    longest: float
    factor: float = 2.0
    jitter: float = 0.0

    def pause(self, failures: int, chance: float = 1.0) -> float:
        """Seconds to wait after so many failures in a row, at least one; `chance`, from 0 to 1, spreads them."""
        try:
            pause: float = min(self.longest, self.first * self.factor ** (failures - 1))
        except OverflowError:
            pause = self.longest
        return pause * (1 - self.jitter + self.jitter * chance)
