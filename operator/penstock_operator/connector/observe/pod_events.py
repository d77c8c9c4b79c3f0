"""Look up why pods start slowly or were stopped, if only an Event of the kubelet shows it."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from penstock_operator.connector.model.pod_status import ExecutorPod, JobPod, Pod, TaskPod, without_source_ports
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.kinds import EVENT
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import Reason

__all__ = ["explained"]

log = logging.getLogger(__name__)
OwnPod = TaskPod | JobPod | ExecutorPod
_CURRENT: Final = 600.0
"""Seconds for which a warning is current; a rate-limited kubelet writes one in five minutes for each pod."""
_NEAR_END: Final = 60.0
"""Maximum seconds between an eviction and the end of the pod."""
_LOOKED_UP: Final = 900.0
"""Seconds after the end of a pod for which an eviction is looked up."""
_KEPT: Final = 30.0
"""Seconds for which a list of Events is reused for the same pods."""
_LIST_SECONDS: Final = 3.0
_LENGTH: Final = 1024
"""Maximum characters of a message."""


async def explained(subject: Subject, pods: Sequence[OwnPod]) -> tuple[OwnPod, ...]:
    """Return the pods, with the message of a warning if their status does not show why they start slowly or ended.

    The kubelet evicts a pod that fills a volume, and reports that in the pod's status only if the process did not exit
    normally. Events are listed at most once, and for at most three seconds.
    """
    causes = subject.cached.pod_causes
    latest = {p.task: p.incarnation for p in sorted(_tasks(pods), key=lambda p: p.incarnation)}
    late = [p for p in pods if _starts_slowly(p)]
    ended = [
        p
        for p in _tasks(pods)
        if _is_unexplained(p)
        and p.uid not in causes
        and p.incarnation == latest[p.task]
        and p.ended is not None
        and subject.now - p.ended.at < _LOOKED_UP
    ]
    events = await _warnings(subject, frozenset(p.uid for p in [*late, *ended]))
    subject.cached.pod_causes = {
        p.uid: cause for p in pods if (cause := _cause(p, events.get(p.uid, ()), subject)) is not None
    }
    return tuple(_with_cause(p, subject.cached.pod_causes.get(p.uid)) for p in pods)


def _tasks(pods: Sequence[Pod]) -> list[TaskPod]:
    return [p for p in pods if isinstance(p, TaskPod)]


def _starts_slowly(pod: Pod) -> bool:
    return pod.hindrance is not None and pod.hindrance[0] == Reason.POD_NOT_STARTING


def _is_unexplained(pod: Pod) -> bool:
    return isinstance(pod, TaskPod) and pod.ended is not None and pod.ended.is_unexplained and pod.leaving is None


def _cause(pod: Pod, events: Sequence[Mapping[str, Any]], subject: Subject) -> tuple[str, str] | None:
    """Return reason and note of the warning that explains a pod; None: there is none.

    The warning of the last run is kept while it is current.
    """
    before = subject.cached.pod_causes.get(pod.uid)
    if _is_unexplained(pod):
        end = pod.ended.at if pod.ended is not None else 0.0
        near = [e for e in events if e.get("reason") == Reason.EVICTED and abs(_last_seen(e) - end) <= _NEAR_END]
        evicted = before if before is not None and before[0] == Reason.EVICTED else None
        return evicted or max(map(_words, near), default=None)
    if not _starts_slowly(pod):
        return None
    current = {
        _words(e): _last_seen(e)
        for e in sorted(events, key=_last_seen)
        if e.get("reason") != "FailedScheduling" and subject.now - _last_seen(e) < _CURRENT
    }
    return before if before in current else max(current, key=lambda words: (current[words], words), default=None)


def _with_cause(pod: OwnPod, cause: tuple[str, str] | None) -> OwnPod:
    if cause is None:
        return pod
    reason, note = cause
    if isinstance(pod, TaskPod) and pod.ended is not None:
        return replace(pod, ended=replace(pod.ended, code=None, reason=reason, message=note))
    return replace(pod, hindrance=(Reason.POD_NOT_STARTING, f"{reason}: {note}"))


def _words(event: Mapping[str, Any]) -> tuple[str, str]:
    return str(event.get("reason")), without_source_ports(str(event.get("note") or ""))[:_LENGTH].strip()


async def _warnings(subject: Subject, uids: frozenset[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the warnings about these pods, by uid; empty if the API server does not return them in time."""
    if not uids:
        return {}
    context, cached = subject.context, subject.cached
    at, known = cached.pod_warnings
    if uids <= known.keys() and subject.now - at < _KEPT:
        return known
    about = f"regarding.uid={next(iter(uids))}" if len(uids) == 1 else "regarding.kind=Pod"
    found: dict[str, list[Mapping[str, Any]]] = {uid: [] for uid in uids}
    try:
        async with asyncio.timeout(_LIST_SECONDS):
            listed = context.run(context.kube.list, EVENT, subject.key.namespace, fields=f"{about},type=Warning")
            for event in await listed:
                uid = (event.get("regarding") or {}).get("uid")
                if uid in uids:
                    found[uid].append(event)
    except (OperatorError, TimeoutError) as e:  # with an older chart, the operator may not list Events
        log.debug("Cannot list Events of pods in %s: %r", subject.key.namespace, e)
        found = {uid: [*known.get(uid, ())] for uid in uids}
    cached.pod_warnings = (subject.now, found)
    return found


def _last_seen(event: Mapping[str, Any]) -> float:
    """Return when an Event last occurred. Kubelets write Events of the older API, whose times have other names."""
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
    )
    return max((at for at in map(instant, times) if at is not None), default=0.0)
