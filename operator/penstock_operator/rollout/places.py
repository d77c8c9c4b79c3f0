"""How many Connectors of a release are restarted at once for a change of the release, and when that stops.

What is counted is each Connector's `Share`; every call costs the same however many Connectors there are, but for the two
moments at which the rollout stops and goes on, which all that wait are told of.
"""

import heapq
import logging
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from penstock_operator.metrics import RolloutFigures
from penstock_operator.queue.key import Key
from penstock_operator.reasons import Reason
from penstock_operator.rollout.share import OPEN, Phase, Place, Share
from penstock_operator.settings import Rollout

__all__ = ["Places"]

log = logging.getLogger(__name__)

_LEAST: Final = 2
"""One Connector, or one namespace, that does not get healthy may have its own reason; two are the release's."""
_TOLD_WITHIN: Final = 10.0
_NAMED: Final = 3
_RELEASE: Final = ""
"""Among namespaces that stop: the whole release."""
_GOES_ON: Final = "the last good configuration goes on"


class Places:
    """The places of a release. Used in the event loop's thread only.

    Args:
        limits: of the release.
        clock: seconds since 1970.
        wake: told of a Connector that should be looked at again, after so many seconds.
    """

    def __init__(
        self, limits: Rollout, clock: Callable[[], float], wake: Callable[[Key, float], None] = lambda key, delay: None
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._wake = wake
        self._shares: dict[Key, Share] = {}
        self._sizes: dict[str, int] = {}
        self._restarting = 0
        self._planning = 0
        self._failed: dict[str, dict[Key, None]] = {}
        self._waiting: dict[str, dict[Key, None]] = {}  # by namespace, whose turns go round
        self._woken: set[Key] = set()
        self._before: dict[Key, Share | None] = {}
        self._deadlines: list[tuple[float, Key]] = []
        self._stopped: set[str] = set()
        self._gone: set[Key] | None = set()

    # What a reconciliation asks and tells

    def look(self, key: Key) -> Place:
        """Whether this Connector may be restarted for a change of the release."""
        self._expire()
        own = self._shares.get(key)
        if own is not None and own.phase is Phase.RESTARTING:
            return OPEN
        if self._gone is not None:
            return Place(
                False, Reason.ROLLOUT_QUEUED, f"the operator still looks at who is being restarted; {_GOES_ON}"
            )
        if (stopped := self._why_stopped(key.namespace)) is not None:
            return Place(False, Reason.ROLLOUT_STOPPED, f"{stopped}; {_GOES_ON}")
        if self._restarting + len(self._woken - {key}) < self.most:
            return OPEN
        most = f"at most {self.limits.max_unavailable} of the release's Connectors are restarted at once"
        return Place(False, Reason.ROLLOUT_QUEUED, f"waits for its turn: {most}; {_GOES_ON}")

    def put(self, key: Key, share: Share | None) -> None:
        """What it takes from now on; None: it is not meant to have tasks. Whoever may follow is woken."""
        self._expire()
        self._before[key] = self._shares.get(key)
        self._set(key, share)
        self._call()

    def drop(self, key: Key) -> None:
        """It is gone."""
        if self._gone is not None:
            self._gone.add(key)
        self.put(key, None)
        del self._before[key]

    def missed(self, key: Key) -> None:
        """It could not be looked at, or what was decided not be written: whoever waits behind it goes first."""
        self._expire()
        self._set(key, self._before.pop(key, self._shares.get(key)))
        self._call()

    # The beginning

    def load(self, shares: Iterable[tuple[Key, Share | None]]) -> None:
        """What all Connectors took when this operator began; before that there is no place for anybody."""
        gone, self._gone = self._gone or set(), None
        for key, share in shares:
            if key not in self._shares and key not in gone:
                self._set(key, share)
        self._expire()
        self._call()

    # What metrics show

    @property
    def most(self) -> int:
        """So many may be restarted at once."""
        return self.limits.of(len(self._shares))

    def figures(self) -> RolloutFigures:
        """As counted now. Usable by any thread."""
        return RolloutFigures(
            waiting=sum(map(len, self._waiting.copy().values())) + len(self._woken),
            restarting=self._restarting,
            failed=sum(map(len, self._failed.copy().values())),
            planning=self._planning,
            stopped=bool(self._stopped),
            stopped_namespaces=len(self._stopped - {_RELEASE}),
        )

    # How it is kept

    def _set(self, key: Key, share: Share | None) -> None:
        before = self._shares.pop(key, None)
        if before is not None:
            self._count(key, before, -1)
        self._woken.discard(key)
        if share is not None:
            self._shares[key] = share
            self._count(key, share, 1)
            if share.until is not None and (before is None or before.until != share.until):
                heapq.heappush(self._deadlines, (share.until, key))
        self._tell(key.namespace)

    def _count(self, key: Key, share: Share, one: int) -> None:
        namespace = key.namespace
        _add(self._sizes, namespace, one)
        self._restarting += one * (share.phase is Phase.RESTARTING)
        self._planning += one * share.planning
        for kept, counts in ((self._failed, share.phase is Phase.FAILED), (self._waiting, share.waits)):
            if counts and one > 0:
                kept.setdefault(namespace, {})[key] = None
            elif namespace in kept:
                kept[namespace].pop(key, None)
                if not kept[namespace]:
                    del kept[namespace]

    def _expire(self) -> None:
        now = self._clock()
        while self._deadlines and self._deadlines[0][0] <= now:
            until, key = heapq.heappop(self._deadlines)
            share = self._shares.get(key)
            if share is not None and share.until == until:
                phase = Phase.FAILED if share.fails else Phase.RESTING
                self._set(key, Share(phase, waits=share.waits, planning=share.planning))

    def _call(self) -> None:
        """Wake as many as there are places; namespaces take turns."""
        if self._gone is not None or self._release_stops():
            return
        free = self.most - self._restarting - len(self._woken)
        while free > 0:
            namespace = next((n for n in self._waiting if n not in self._stopped), None)
            if namespace is None:
                return
            keys = self._waiting.pop(namespace)
            key = next(iter(keys))
            del keys[key]
            if keys:
                self._waiting[namespace] = keys  # behind the others
            self._woken.add(key)
            self._wake(key, 0.0)
            free -= 1

    # When it stops

    def _namespace_stops(self, namespace: str) -> bool:
        failed = len(self._failed.get(namespace, ()))
        return failed >= max(_LEAST, self.limits.of(self._sizes.get(namespace, 0)))

    def _release_stops(self) -> bool:
        return len(self._failed) >= max(_LEAST, self.limits.of(len(self._sizes)))

    def _why_stopped(self, namespace: str) -> str | None:
        failed = self._failed.get(namespace, {})
        names = ", ".join(k.name for k in islice(failed, _NAMED)) + (", ..." if len(failed) > _NAMED else "")
        what = "were Ready before they were restarted for it, and are not since"
        if self._namespace_stops(namespace):
            return f"stopped in this namespace: {names} {what}; mend, pause or stop them, or take the change back"
        if self._release_stops():
            here = f", here {names}" if names else ""
            return f"stopped: Connectors of {len(self._failed)} namespaces{here} {what}; whoever runs the release sees which"
        return None

    def _tell(self, namespace: str) -> None:
        """Those that wait, when it stops or goes on."""
        for name, stops in ((namespace, self._namespace_stops(namespace)), (_RELEASE, self._release_stops())):
            if stops == (name in self._stopped):
                continue
            (self._stopped.add if stops else self._stopped.discard)(name)
            where = f"in namespace {name}" if name else "of the release"
            if stops:
                failed = [k for n, keys in self._failed.items() if name in (_RELEASE, n) for k in keys]
                log.warning(
                    "The rollout %s stops: not Ready since their restart are %s%s", where,
                    ", ".join(map(str, failed[:10])), ", ..." if len(failed) > 10 else "",
                )  # fmt: skip
            else:
                log.info("The rollout %s goes on", where)
            concerned = [k for n, keys in self._waiting.items() if name in (_RELEASE, n) for k in keys]
            for number, key in enumerate(concerned):
                self._wake(key, _TOLD_WITHIN * number / len(concerned))


def _add(counts: dict[str, int], name: str, one: int) -> None:
    counts[name] = counts.get(name, 0) + one
    if not counts[name]:
        del counts[name]
