"""Each world for a while; `make soak` runs them all night. PENSTOCK_SOAK_SECONDS is how long all of them take together."""

import os
import time
from pathlib import Path
from typing import Final

import pytest

from .rounds import WORLDS
from .side_by_side import Alone

_SECONDS: Final = float(os.environ.get("PENSTOCK_SOAK_SECONDS", "600"))
_AROUND: Final = 15.0
"""Seconds that a round takes besides its actions, on a machine with something to spare."""
_LEAST: Final = 20.0
_FOLDER: Final = Path(__file__).parents[2] / "build" / "soak"
"""Not pytest's own, which the runs of others may take away: what broke is to be looked into."""


class Share:
    """What each world gets of the time: less when those before took longer than they were to, on a machine that is full."""

    def __init__(self) -> None:
        self._ends = time.monotonic() + _SECONDS
        self._left = len(WORLDS)

    def next(self) -> float:
        """Seconds of actions for the next one."""
        left = (self._ends - time.monotonic()) / max(1, self._left)
        self._left -= 1
        return max(_LEAST, left - _AROUND)


@pytest.fixture(scope="module")
def share() -> Share:
    return Share()


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("world", WORLDS)
def test_adversaries_leave_every_invariant_whole(world: str, share: Share) -> None:
    given = os.environ.get("PENSTOCK_SEED")
    alone = Alone(world, int(given) if given else int(time.time()), share.next(), _FOLDER)
    try:
        assert alone.wait() == 0, alone.text()
    finally:
        alone.end()
