"""What is done to a world, and when: all of it follows from a seed. Pure.

A failure is run again with its seed: `python -m tests.soak --only WORLD --seed SEED --seconds SECONDS`. The actions and
their times are the same then; what the machine makes of them may differ.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Action", "Step", "plan"]

_FIRST: Final = 3.0
"""Seconds until the first action: tasks have just been started."""
_PAUSES: Final = (0.5, 9.0)
"""Seconds between two actions, from and to."""
_BREATHS: Final = 0.15
"""The part of pauses that is followed by none: two actions at once."""


@dataclass(frozen=True, slots=True)
class Action:
    """What may be done to a world.

    Attributes:
        name: as the world knows it.
        weight: how many of the cards of a deck it is.
        lasts: from and to, in seconds, for what is undone later.
        awaits: why it is not done yet: the issue that mends what it brings out. None: it is done.
    """

    name: str
    weight: int = 1
    lasts: tuple[float, float] = (0.0, 0.0)
    awaits: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a plan.

    Attributes:
        at: seconds after the beginning.
        action: its name.
        lasts: seconds until it is undone.
        choice: from 0 to 1: which of several, or how much.
    """

    at: float
    action: str
    lasts: float
    choice: float

    def __str__(self) -> str:
        until = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:6.1f} s {self.action}{until} ({self.choice:.2f})"


def plan(seed: int, world: str, seconds: float, actions: Sequence[Action]) -> list[Step]:
    """The steps of a run, in the order of their times; each comes before any comes again, as cards of a deck do."""
    chance = random.Random(f"{world} {seed}")  # a text: the same on every machine
    cards = _cards(chance, [a for a in actions if a.awaits is None])
    steps: list[Step] = []
    at = _FIRST
    for action in cards:
        lasts = round(chance.uniform(*action.lasts), 1)
        if at + lasts > seconds:
            lasts = round(max(0.0, min(lasts, seconds - at)), 1)
        if at >= seconds:
            break
        steps.append(Step(round(at, 1), action.name, lasts, round(chance.random(), 2)))
        if chance.random() >= _BREATHS:
            at += chance.uniform(*_PAUSES)
    return steps


def _cards(chance: random.Random, actions: Sequence[Action]) -> Iterator[Action]:
    while actions:
        deck = [a for a in actions for _ in range(a.weight)]
        chance.shuffle(deck)
        yield from deck
