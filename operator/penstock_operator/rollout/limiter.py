"""Limit how many Connectors restart at the same time for a change of the release, and stop the rollout where they fail.

The limiter counts each Connector's `Progress`. The cost of a call does not depend on the number of Connectors, except when
the rollout stops or continues: then all waiting Connectors are reconciled again.
"""

import heapq
import logging
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from penstock_operator.key import Key
from penstock_operator.metrics import RolloutFigures
from penstock_operator.reasons import Reason
from penstock_operator.rollout.progress import GRANTED, Permission, Phase, Progress
from penstock_operator.settings import Rollout

__all__ = ["RolloutLimiter"]

log = logging.getLogger(__name__)

_MIN_FAILURES: Final = 2
"""Minimum number of failed Connectors or namespaces that stops the rollout: a single failure may have a local cause."""
_WAKE_WITHIN: Final = 10.0
"""Seconds over which waiting Connectors are reconciled when the rollout stops or continues."""
_MAX_NAMES: Final = 3
_RELEASE: Final = ""
"""Entry for the whole release among the stopped namespaces."""
_IN_USE: Final = "the last good configuration stays in use"


class RolloutLimiter:
    """Limiter of one release. Used only in the event loop's thread.

    Args:
        limits: limits of the release.
        clock: seconds since 1970.
        wake: called with a Connector to reconcile and the delay in seconds.
    """

    def __init__(
        self, limits: Rollout, clock: Callable[[], float], wake: Callable[[Key, float], None] = lambda key, delay: None
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._wake = wake
        self._progress: dict[Key, Progress] = {}
        self._sizes: dict[str, int] = {}
        self._restarting = 0
        self._planning = 0
        self._failed: dict[str, dict[Key, None]] = {}
        self._waiting: dict[str, dict[Key, None]] = {}  # by namespace, in the order of waiting
        self._woken: set[Key] = set()
        self._before: dict[Key, Progress | None] = {}
        self._deadlines: list[tuple[float, Key]] = []
        self._stopped: set[str] = set()
        self._forgotten: set[Key] | None = set()
        """Connectors that were forgotten before `load`; None after it."""

    # Called by reconciliations

    def permission(self, key: Key) -> Permission:
        """Return whether this Connector may be restarted for a change of the release."""
        self._expire()
        own = self._progress.get(key)
        if own is not None and own.phase is Phase.RESTARTING:
            return GRANTED
        if self._forgotten is not None:
            return Permission(
                False,
                Reason.ROLLOUT_QUEUED,
                f"the operator is still determining which Connectors are being restarted; {_IN_USE}",
            )
        if (stopped := self._why_stopped(key.namespace)) is not None:
            return Permission(False, Reason.ROLLOUT_STOPPED, f"{stopped}; {_IN_USE}")
        if self._restarting + len(self._woken - {key}) < self.limit:
            return GRANTED
        most = f"at most {self.limits.max_unavailable} of the release's Connectors are restarted at the same time"
        return Permission(False, Reason.ROLLOUT_QUEUED, f"waiting for its turn: {most}; {_IN_USE}")

    def update(self, key: Key, progress: Progress | None) -> None:
        """Set a Connector's progress (None: it should have no tasks), and wake the Connectors that may restart next."""
        self._expire()
        self._before[key] = self._progress.get(key)
        self._set(key, progress)
        self._wake_next()

    def forget(self, key: Key) -> None:
        """Remove a Connector that no longer exists."""
        if self._forgotten is not None:
            self._forgotten.add(key)
        self.update(key, None)
        del self._before[key]

    def revert(self, key: Key) -> None:
        """Undo the last update of a Connector whose reconciliation failed, and wake others that may restart instead."""
        self._expire()
        self._set(key, self._before.pop(key, self._progress.get(key)))
        self._wake_next()

    # At the operator's start

    def load(self, progress: Iterable[tuple[Key, Progress | None]]) -> None:
        """Set the progress of all Connectors at the operator's start, before which no permission is granted."""
        forgotten, self._forgotten = self._forgotten or set(), None
        for key, loaded in progress:
            if key not in self._progress and key not in forgotten:
                self._set(key, loaded)
        self._expire()
        self._wake_next()

    # For metrics

    @property
    def limit(self) -> int:
        """Return how many Connectors may restart at the same time."""
        return self.limits.of(len(self._progress))

    def figures(self) -> RolloutFigures:
        """Return the current counts. Thread-safe."""
        return RolloutFigures(
            waiting=sum(map(len, self._waiting.copy().values())) + len(self._woken),
            restarting=self._restarting,
            failed=sum(map(len, self._failed.copy().values())),
            planning=self._planning,
            stopped=bool(self._stopped),
            stopped_namespaces=len(self._stopped - {_RELEASE}),
        )

    # The counts

    def _set(self, key: Key, progress: Progress | None) -> None:
        before = self._progress.pop(key, None)
        if before is not None:
            self._count(key, before, -1)
        self._woken.discard(key)
        if progress is not None:
            self._progress[key] = progress
            self._count(key, progress, 1)
            if progress.until is not None and (before is None or before.until != progress.until):
                heapq.heappush(self._deadlines, (progress.until, key))
        self._check_stop(key.namespace)

    def _count(self, key: Key, progress: Progress, one: int) -> None:
        namespace = key.namespace
        _add(self._sizes, namespace, one)
        self._restarting += one * (progress.phase is Phase.RESTARTING)
        self._planning += one * progress.planning
        for kept, counts in ((self._failed, progress.phase is Phase.FAILED), (self._waiting, progress.waits)):
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
            progress = self._progress.get(key)
            if progress is not None and progress.until == until:
                phase = Phase.FAILED if progress.fails else Phase.RESTING
                self._set(key, Progress(phase, waits=progress.waits, planning=progress.planning))

    def _wake_next(self) -> None:
        """Wake as many waiting Connectors as may restart now; namespaces take turns."""
        if self._forgotten is not None or self._release_stops():
            return
        free = self.limit - self._restarting - len(self._woken)
        while free > 0:
            namespace = next((n for n in self._waiting if n not in self._stopped), None)
            if namespace is None:
                return
            keys = self._waiting.pop(namespace)
            key = next(iter(keys))
            del keys[key]
            if keys:
                self._waiting[namespace] = keys  # after the others
            self._woken.add(key)
            self._wake(key, 0.0)
            free -= 1

    # Stopping

    def _namespace_stops(self, namespace: str) -> bool:
        failed = len(self._failed.get(namespace, ()))
        return failed >= max(_MIN_FAILURES, self.limits.of(self._sizes.get(namespace, 0)))

    def _release_stops(self) -> bool:
        return len(self._failed) >= max(_MIN_FAILURES, self.limits.of(len(self._sizes)))

    def _why_stopped(self, namespace: str) -> str | None:
        failed = self._failed.get(namespace, {})
        names = ", ".join(k.name for k in islice(failed, _MAX_NAMES)) + (", ..." if len(failed) > _MAX_NAMES else "")
        what = "were Ready before they were restarted for the change, and have not been Ready since"
        if self._namespace_stops(namespace):
            return f"stopped in this namespace: {names} {what}; fix, pause or stop them, or revert the change"
        if self._release_stops():
            here = f" (in this one: {names})" if names else ""
            return f"stopped: Connectors of {len(self._failed)} namespaces{here} {what}; the operator's log names them"
        return None

    def _check_stop(self, namespace: str) -> None:
        """Log that the rollout stops or continues, and wake waiting Connectors to update their status."""
        for name, stops in ((namespace, self._namespace_stops(namespace)), (_RELEASE, self._release_stops())):
            if stops == (name in self._stopped):
                continue
            (self._stopped.add if stops else self._stopped.discard)(name)
            where = f"in namespace {name}" if name else "of the release"
            if stops:
                failed = [k for n, keys in self._failed.items() if name in (_RELEASE, n) for k in keys]
                log.warning(
                    "The rollout %s stops: these Connectors have not been Ready since their restart: %s%s",
                    where,
                    ", ".join(map(str, failed[:10])),
                    ", ..." if len(failed) > 10 else "",
                )
            else:
                log.info("The rollout %s continues", where)
            concerned = [k for n, keys in self._waiting.items() if name in (_RELEASE, n) for k in keys]
            for number, key in enumerate(concerned):
                self._wake(key, _WAKE_WITHIN * number / len(concerned))


def _add(counts: dict[str, int], name: str, one: int) -> None:
    counts[name] = counts.get(name, 0) + one
    if not counts[name]:
        del counts[name]
