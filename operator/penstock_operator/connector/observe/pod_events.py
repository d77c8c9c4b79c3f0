"""Looks up why a pod takes long to start, where only an Event of its kubelet says so: a volume that cannot be mounted."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from penstock_operator.connector.model.pod_status import JobPod, TaskPod
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
    """Return the pod with the last warning about it as its hindrance, if its status does not say why it starts slowly."""
    if pod.hindrance is None or pod.hindrance[0] != Reason.POD_NOT_STARTING:
        return pod
    context, fields = subject.context, f"regarding.uid={pod.uid},type=Warning"
    try:
        events = await context.run(context.kube.list, EVENT, subject.key.namespace, fields=fields)
    except OperatorError as e:  # the release of an older chart may not list Events
        log.debug("%s", e)
        return pod
    current = [e for e in events if e.get("reason") != "FailedScheduling" and subject.now - _last_seen(e) < _CURRENT]
    if not current:
        return pod
    last = max(current, key=_last_seen)
    return replace(pod, hindrance=(Reason.POD_NOT_STARTING, f"{last.get('reason')}: {last.get('note')}"[:_LENGTH]))


def _last_seen(event: Mapping[str, Any]) -> float:
    """Return when an Event occurred last. Kubelets write Events of the older kind, whose times have other names."""
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
    )
    return max((at for at in map(instant, times) if at is not None), default=0.0)
