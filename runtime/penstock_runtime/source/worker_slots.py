"""Slots of Spark's workers; each slot has a transactional id, and a producer that is kept from batch to batch.

The driver learns them from the workers' answers, and sends them with each part of a batch. Spark gives a part to any idle
worker, so each part also offers a slot for a worker that holds none: no other part of the batch offers it, and no worker
holds it. So two workers never write in one slot at the same time. A lost batch ends all of it: every slot is fenced.
"""

from collections.abc import Mapping, Sequence

import msgspec

__all__ = ["Holder", "Offer", "WorkerSlots"]

Holder = tuple[str, int]
"""Worker, by a name that is unique to its process, and the slot that it holds."""


class Offer(msgspec.Struct, frozen=True):
    """Slots that a part of a batch offers.

    Attributes:
        held: slots of the workers that hold one, by the worker's name.
        free: slot for any other worker, which must make a new producer there.
    """

    held: Mapping[str, int]
    free: int


class WorkerSlots:
    """Table of the driver, empty at first."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}
        """Slots by worker; workers that have delivered nothing for the longest time come first."""

    def offers(self, parts: int, slots: int) -> Sequence[Offer]:
        """Return an offer for each part of a batch.

        Args:
            parts: number of parts, at most `slots`.
            slots: number of slots. If too few are free, the workers that have delivered nothing for the longest time lose
                theirs; they may be gone, because Spark ends idle ones.
        """
        while len(self._held) > slots - parts:
            del self._held[next(iter(self._held))]
        taken = set(self._held.values())
        free = [slot for slot in range(1, slots + 1) if slot not in taken]
        return [Offer(dict(self._held), slot) for slot in free[:parts]]

    def took(self, holder: Holder) -> None:
        """Record that a worker has delivered in this slot, and keeps its producer."""
        worker, slot = holder
        self._held.pop(worker, None)
        self._held[worker] = slot

    def clear(self) -> None:
        """Remove all slots from the workers, because all of them are fenced."""
        self._held.clear()
