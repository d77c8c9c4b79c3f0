"""Which of Spark's workers holds which slot, and with it a transactional id and a producer that is kept from batch to batch.

The driver knows it from the workers' answers, and tells it with each part of a batch. Spark gives a part to any worker that
is idle, so each part offers a slot besides, for a worker that holds none: no other part of the batch offers it, and no
worker holds it. So two workers never write in one slot at once. A batch that is lost ends all of it: every slot is fenced.
"""

from collections.abc import Mapping, Sequence

import msgspec

__all__ = ["Holder", "Offer", "WorkerSlots"]

Holder = tuple[str, int]
"""A worker, by a name of its own that no other process has, and the slot that it holds."""


class Offer(msgspec.Struct, frozen=True):
    """What a part of a batch says of slots.

    Attributes:
        held: the slots of those workers that hold one, by the worker's name.
        free: the slot for any other worker; it makes a producer there, whatever it had before.
    """

    held: Mapping[str, int]
    free: int


class WorkerSlots:
    """The driver's table, empty at first."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}
        """Those first that have delivered nothing for the longest time."""

    def offers(self, parts: int, slots: int) -> Sequence[Offer]:
        """An offer for each part of a batch.

        Args:
            parts: at most `slots`.
            slots: how many there are. If too few are free, workers lose theirs that have delivered nothing for the longest
                time; they may be gone, for Spark ends idle ones.
        """
        while len(self._held) > slots - parts:
            del self._held[next(iter(self._held))]
        taken = set(self._held.values())
        free = [slot for slot in range(1, slots + 1) if slot not in taken]
        return [Offer(dict(self._held), slot) for slot in free[:parts]]

    def took(self, holder: Holder) -> None:
        """A worker has delivered in this slot, and keeps its producer."""
        worker, slot = holder
        self._held.pop(worker, None)
        self._held[worker] = slot

    def clear(self) -> None:
        """No worker holds a slot any more: all of them are fenced."""
        self._held.clear()
