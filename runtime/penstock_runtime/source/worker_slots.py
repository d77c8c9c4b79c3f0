"""Slots of Spark's workers; each slot has a transactional id, and a producer that is kept from batch to batch.

The driver learns them from the workers' answers, and sends them with each part of a batch. Spark may run a part in any idle
worker, so each part also offers a slot to a worker without one: no worker holds this slot, and no other part of the batch
offers it. Two workers therefore never write in one slot at the same time. After a lost batch, all slots are fenced.
"""

from collections.abc import Mapping, Sequence

import msgspec

__all__ = ["Holder", "Offer", "WorkerSlots"]

Holder = tuple[str, int]
"""Name of a worker, unique to its process, and the slot that it holds."""


class Offer(msgspec.Struct, frozen=True):
    """Slots that a part of a batch offers.

    Attributes:
        held: slots of the workers that hold one, by the worker's name.
        free: slot for any other worker, which must create a new producer for it.
    """

    held: Mapping[str, int]
    free: int


class WorkerSlots:
    """Slots that workers hold, as known to the driver; empty at first."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}
        """Slots by worker, in the order of their last deliveries, oldest first."""

    def offers(self, parts: int, slots: int) -> Sequence[Offer]:
        """Return an offer for each part of a batch.

        Args:
            parts: number of parts, at most `slots`.
            slots: number of slots. If too few are free, the workers with the oldest deliveries lose theirs; they may be
                gone, because Spark stops idle ones.
        """
        while len(self._held) > slots - parts:
            del self._held[next(iter(self._held))]
        taken = set(self._held.values())
        free = [slot for slot in range(1, slots + 1) if slot not in taken]
        return [Offer(dict(self._held), slot) for slot in free[:parts]]

    def took(self, holder: Holder) -> None:
        """Record that a worker has delivered with this slot, and keeps its producer."""
        worker, slot = holder
        self._held.pop(worker, None)
        self._held[worker] = slot

    def clear(self) -> None:
        """Release all slots, because all of them are fenced."""
        self._held.clear()
