"""Looks up why a pod takes long to start, or was ended, where only an Event of its kubelet says so."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from penstock_operator.connector.model.pod_status import JobPod, Pod, TaskPod
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.kinds import EVENT
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import Reason

__all__ = ["explained"]

log = logging.getLogger(__name__)
_CURRENT: Final = 180.0
"""Seconds after which an Event no longer counts: a kubelet retries a mount at least every two minutes."""
_LENGTH: Final = 1024
"""Characters of a message."""


async def explained(subject: Subject, pod: TaskPod | JobPod) -> TaskPod | JobPod:
    """Return the pod with the words of its last warning, if its status does not say why it starts slowly, or why it ended.

    The kubelet evicts a pod that fills a volume, and says so in the pod's status only if the process did not end in order.
    """
    if pod.hindrance is not None and pod.hindrance[0] == Reason.POD_NOT_STARTING:
        reason, note = await _last_warning(subject, pod, lambda reason: reason != "FailedScheduling")
        return replace(pod, hindrance=(Reason.POD_NOT_STARTING, f"{reason}: {note}")) if reason else pod
    if isinstance(pod, TaskPod) and pod.ended is not None and pod.ended.is_unexplained and pod.leaving is None:
        reason, note = await _last_warning(subject, pod, lambda reason: reason == Reason.EVICTED)
        return replace(pod, ended=replace(pod.ended, code=None, reason=reason, message=note)) if reason else pod
    return pod


async def _last_warning(subject: Subject, pod: Pod, counts: Callable[[str], bool]) -> tuple[str, str]:
    """Return reason and note of the last warning about a pod that counts and is current; empty: there is none."""
    context, fields = subject.context, f"regarding.uid={pod.uid},type=Warning"
    try:
        events = await context.run(context.kube.list, EVENT, subject.key.namespace, fields=fields)
    except OperatorError as e:  # the release of an older chart may not list Events
        log.debug("%s", e)
        return "", ""
    current = [e for e in events if counts(str(e.get("reason"))) and subject.now - _last_seen(e) < _CURRENT]
    last = max(current, key=_last_seen, default=None)
    return ("", "") if last is None else (str(last.get("reason")), str(last.get("note") or "")[:_LENGTH].strip())


def _last_seen(event: Mapping[str, Any]) -> float:
    """Return when an Event occurred last. Kubelets write Events of the older kind, whose times have other names."""
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
    )
    return max((at for at in map(instant, times) if at is not None), default=0.0)
