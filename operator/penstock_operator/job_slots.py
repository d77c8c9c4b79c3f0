"""Job slots: the limit of parallel job pods in a release, and the order in which connectors get them.

`granted` decides, and is pure. `JobSlots` keeps the counts; it is used only in the event loop's thread.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from penstock_operator.key import Key

__all__ = ["JobSlots", "granted"]

_OVERTAKEN: Final = 3
"""Maximum number of urgent connectors in a row that may overtake one that has waited longer."""


def granted(most: int, held: Mapping[str, int], waiting: Sequence[Key]) -> tuple[Key, ...]:
    """Return the connectors that get the free slots now, in order.

    A free slot goes to the namespace that holds the fewest, and among equal ones to the connector that waits longest.
    The last free slot is reserved for a namespace that holds none, so that no namespace can occupy all of them, no matter
    why its pods wait.

    Args:
        most: the number of slots.
        held: taken slots by namespace.
        waiting: connectors that want one slot each, the longest waiting first.
    """
    holds, queue, found = Counter(held), list(waiting), list[Key]()
    free = most - holds.total()
    while free > 0 and queue:
        first = min(queue, key=lambda key: holds[key.namespace])
        if free == 1 < most and holds[first.namespace]:
            break
        queue.remove(first)
        found.append(first)
        holds[first.namespace] += 1
        free -= 1
    return tuple(found)


class JobSlots:
    """Job slots of a release, taken by existing job pods and by those that are about to be created.

    A slot is taken and released under the pod's name; taking it twice counts once. A waiting connector keeps its position
    until it has taken a slot or withdraws. If several namespaces or connectors have an equal right to a slot, urgent
    connectors go first: those for which a user waits (a new connector, a change by its user, a deletion). After
    `_OVERTAKEN` of them have overtaken one that waited longer, the connector that has waited longest gets the next slot,
    urgent or not.

    Args:
        most: number of slots.
        wake: called with a waiting connector when there is a slot for it.
    """

    def __init__(self, most: int, wake: Callable[[Key], None] = lambda key: None) -> None:
        self._most = most
        self._wake = wake
        self._taken: dict[str, Key] = {}
        # By namespace and urgency, in the order of waiting: position, and whether it was woken.
        self._waiting: dict[tuple[str, bool], dict[Key, tuple[int, bool]]] = {}
        self._numbers = itertools.count()
        self._overtaking = 0  # how many urgent ones in a row overtook one that waited longer

    def adopt(self, pods: Mapping[str, Key]) -> None:
        """Count job pods (`<namespace>/<name>`) that exist at the operator's start, even if there are more than slots."""
        self._taken.update(pods)

    def room(self, key: Key, *, urgent: bool = True) -> bool:
        """Return whether this connector would get a slot now."""
        if len(self._taken) >= self._most:
            return False
        return key in self._granted((key, urgent))

    def take(self, pod: str, key: Key, *, urgent: bool = True) -> bool:
        """Take a slot for a pod, and return whether this connector could get one now."""
        if pod not in self._taken:
            if not self.room(key, urgent=urgent):
                return False
            self._overtaking = self._overtaking + self._overtakes(key) if urgent else 0
        self._taken[pod] = key
        self._leave(key)
        return True

    def give_back(self, pod: str) -> None:
        """Release the slot of a pod that has ended, or was never created."""
        if self._taken.pop(pod, None) is not None:
            self._call()

    def living(self, key: Key, pods: frozenset[str]) -> None:
        """Set which job pods of a connector exist."""
        gone = [p for p, k in self._taken.items() if k == key and p not in pods]
        for pod in gone:
            del self._taken[pod]
        self._taken.update(dict.fromkeys(pods, key))
        if gone:
            self._call()

    def wait(self, key: Key, *, urgent: bool = True) -> None:
        """Queue this connector for a slot; `wake` is called when it can take one."""
        number = self._number(key)
        if key not in self._waiting.get((key.namespace, urgent), {}):  # else it keeps its position
            self._leave(key)
        queue = self._waiting.setdefault((key.namespace, urgent), {})
        queue[key] = next(self._numbers) if number is None else number, False
        self._call()

    def withdraw(self, key: Key) -> None:
        """Remove this connector from the queue, and wake the next one."""
        if self._leave(key):
            self._call()

    def __len__(self) -> int:
        return len(self._taken)

    @contextmanager
    def making(self, pod: str, key: Key, *, urgent: bool = True) -> Iterator[bool]:
        """Take a slot, and give it back if creating the pod fails. Yields whether a slot was taken."""
        taken = self.take(pod, key, urgent=urgent)
        try:
            yield taken
        except BaseException:
            self.give_back(pod)
            raise

    def _granted(self, *more: tuple[Key, bool]) -> tuple[Key, ...]:
        held = Counter(key.namespace for key in self._taken.values())
        # At most as many of a namespace as there are slots, so that ten thousand waiting ones do not slow down the others.
        waiting = [
            (not urgent, number, key)
            for (_, urgent), queue in self._waiting.items()
            for key, (number, _) in itertools.islice(queue.items(), self._most)
        ]
        waiting += [(not urgent, next(self._numbers), key) for key, urgent in more if self._number(key) is None]
        by_age = self._overtaking >= _OVERTAKEN
        waiting.sort(key=lambda entry: entry[1:] if by_age else entry)
        return granted(self._most, held, [key for _, _, key in waiting])

    def _number(self, key: Key) -> int | None:
        """Return a connector's position in the order of waiting; None: it does not wait."""
        found = (self._waiting.get((key.namespace, urgent), {}).get(key) for urgent in (True, False))
        return next((entry[0] for entry in found if entry is not None), None)

    def _overtakes(self, key: Key) -> bool:
        """Return whether a connector that is not urgent has waited longer than this one."""
        own = self._number(key)
        first = (next(iter(q.values()))[0] for (_, urgent), q in self._waiting.items() if not urgent)
        return any(own is None or number < own for number in first)

    def _leave(self, key: Key) -> bool:
        """Remove a connector from the queue, and return whether it was waiting."""
        left = False
        for place in ((key.namespace, True), (key.namespace, False)):
            queue = self._waiting.get(place, {})
            left = queue.pop(key, None) is not None or left
            if not queue:
                self._waiting.pop(place, None)
        return left

    def _call(self) -> None:
        if not self._waiting or len(self._taken) >= self._most:
            return
        for key in self._granted():
            queue = next(q for urgent in (True, False) if key in (q := self._waiting.get((key.namespace, urgent), {})))
            number, woken = queue[key]
            if not woken:
                queue[key] = number, True
                self._wake(key)
