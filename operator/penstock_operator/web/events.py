"""Select and convert Events about a Connector. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from penstock_operator.kubernetes.kinds import CONNECTOR, POD
from penstock_operator.kubernetes.times import instant
from penstock_web.source import Event

__all__ = ["events_about", "is_pod_of"]

_MOST: Final = 100
_OF_CONNECTOR: Final = re.compile(r"[0-9]+-[0-9]+(-e[0-9]+)?|(plan|prepare|reset|offsets)-[0-9a-f]{10}", re.ASCII)
"""Pattern of the suffix of a task pod's, executor's or job pod's name (`penstock_operator.names`)."""


def is_pod_of(connector: str, pod: str) -> bool:
    """Return whether this is the name of a pod of the Connector."""
    return pod.startswith(f"{connector}-") and _OF_CONNECTOR.fullmatch(pod, len(connector) + 1) is not None


def events_about(connector: str, uid: str, documents: Iterable[Mapping[str, Any]]) -> Sequence[Event]:
    """Return the Events about a Connector and its pods, the latest first, at most 100.

    Args:
        connector: name of the Connector.
        uid: its uid; Events about an earlier Connector of the same name are omitted.
        documents: Events of its namespace (events.k8s.io/v1).
    """
    found = []
    for document in documents:
        about = document.get("regarding") or {}
        kind, name = about.get("kind"), str(about.get("name") or "")
        if (kind, name, about.get("uid")) == (CONNECTOR.kind, connector, uid) or (
            kind == POD.kind and is_pod_of(connector, name)
        ):
            found.append(_event(document, name))
    return sorted(found, key=lambda e: e.at, reverse=True)[:_MOST]


def _event(document: Mapping[str, Any], name: str) -> Event:
    series = document.get("series") or {}
    # Kubelets write Events of the older API, whose times and counts have other names.
    times = (series.get("lastObservedTime"), document.get("deprecatedLastTimestamp"), document.get("eventTime"))
    created = instant((document.get("metadata") or {}).get("creationTimestamp"))
    return Event(
        at=max((at for at in map(instant, times) if at is not None), default=created or 0.0),
        kind=str(document.get("type") or "Normal"),
        reason=str(document.get("reason") or ""),
        message=str(document.get("note") or ""),
        about=name,
        count=int(series.get("count") or document.get("deprecatedCount") or 1),
    )
