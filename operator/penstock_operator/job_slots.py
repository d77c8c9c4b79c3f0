"""How many job pods may live at once in a release, and whose turn it is.

`granted` decides, and is pure. `JobSlots` keeps count; it is used in the event loop's thread only.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from penstock_operator.key import Key

__all__ = ["JobSlots", "granted"]


def granted(most: int, held: Mapping[str, int], waiting: Sequence[Key]) -> tuple[Key, ...]:
    """The connectors that get the free slots now, in their order.

    A free slot goes to the namespace that holds the fewest, and among equal ones to the connector that waits longest.
    The last free slot is kept for a namespace that holds none: no namespace has all of them, whatever its pods wait for.

    Args:
        most: slots in all.
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
    """The slots of a release: taken by job pods that live and by those that are about to be created.

    A slot is taken by the pod's name and given back by it; taking twice is once. A connector that waits keeps its place
    until it has taken a slot or withdraws.

    Args:
        most: slots.
        wake: called with a connector that waits, when there is a slot for it.
    """

    def __init__(self, most: int, wake: Callable[[Key], None] = lambda key: None) -> None:
        self._most = most
        self._wake = wake
        self._taken: dict[str, Key] = {}
        # By namespace, in the order of waiting: since when, whether it was woken.
        self._waiting: dict[str, dict[Key, tuple[int, bool]]] = {}
        self._numbers = itertools.count()

    def adopt(self, pods: Mapping[str, Key]) -> None:
        """Count pods that live already, `<namespace>/<name>`, as after a restart; more than there are slots, too."""
        self._taken.update(pods)

    def room(self, key: Key) -> bool:
        """Whether this connector would get a slot now."""
        if len(self._taken) >= self._most:
            return False
        return key in self._granted(key)

    def take(self, pod: str, key: Key) -> bool:
        """Take a slot for a pod; False: there is none for this connector now."""
        if pod not in self._taken and not self.room(key):
            return False
        self._taken[pod] = key
        self._leave(key)
        return True

    def give_back(self, pod: str) -> None:
        """The pod has ended, or was never created."""
        if self._taken.pop(pod, None) is not None:
            self._call()

    def living(self, key: Key, pods: frozenset[str]) -> None:
        """These pods of a connector live, and no others."""
        gone = [p for p, k in self._taken.items() if k == key and p not in pods]
        for pod in gone:
            del self._taken[pod]
        self._taken.update(dict.fromkeys(pods, key))
        if gone:
            self._call()

    def wait(self, key: Key) -> None:
        """Wake this connector once there is a slot for it."""
        queue = self._waiting.setdefault(key.namespace, {})
        queue[key] = queue[key][0] if key in queue else next(self._numbers), False
        self._call()

    def withdraw(self, key: Key) -> None:
        """This connector wants no slot any more: the next one's turn."""
        if self._leave(key):
            self._call()

    def __len__(self) -> int:
        return len(self._taken)

    @contextmanager
    def making(self, pod: str, key: Key) -> Iterator[bool]:
        """Take a slot, and give it back if creating the pod fails."""
        taken = self.take(pod, key)
        try:
            yield taken
        except BaseException:
            self.give_back(pod)
            raise

    def _granted(self, *more: Key) -> tuple[Key, ...]:
        held = Counter(key.namespace for key in self._taken.values())
        # Of a namespace no more than there are slots: ten thousand that wait there cost the others nothing.
        first = [(n, k) for q in self._waiting.values() for k, (n, _) in itertools.islice(q.items(), self._most)]
        waiting = [key for _, key in sorted(first)]
        return granted(self._most, held, [*waiting, *(k for k in more if k not in self._waiting.get(k.namespace, ()))])

    def _leave(self, key: Key) -> bool:
        """Whether it has waited."""
        queue = self._waiting.get(key.namespace, {})
        found = queue.pop(key, None)
        if found is not None and not queue:
            del self._waiting[key.namespace]
        return found is not None

    def _call(self) -> None:
        if not self._waiting or len(self._taken) >= self._most:
            return
        for key in self._granted():
            queue = self._waiting[key.namespace]
            number, woken = queue[key]
            if not woken:
                queue[key] = number, True
                self._wake(key)
