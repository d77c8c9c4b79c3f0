"""Render Events, and prevent repetitions of the same Event. Pure."""

import random
import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from penstock_operator.kubernetes.kinds import EVENT

__all__ = ["RecentEvents", "event_manifest"]

_SECONDS: Final = 600.0
_MOST: Final = 2_000
_NOTE_BYTES: Final = 1_024

Identity = tuple[str, str, str]
"""Uid of the object, reason, message."""


class RecentEvents:
    """Events of the last ten minutes. Thread-safe."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._written: OrderedDict[Identity, float] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, identity: Identity, now: float) -> bool:
        """Add an Event; False: it was already added within the last ten minutes, and must not be written again."""
        with self._lock:
            if now - self._written.get(identity, -self._seconds) < self._seconds:
                return False
            self._written[identity] = now
            self._written.move_to_end(identity)
            while len(self._written) > _MOST:
                self._written.popitem(last=False)
            return True

    def remove(self, identity: Identity) -> None:
        """Remove an Event that could not be written."""
        with self._lock:
            self._written.pop(identity, None)


def event_manifest(
    involved: Mapping[str, Any],
    *,
    type_: str,
    reason: str,
    message: str,
    action: str,
    controller: str,
    instance: str,
    now: float,
) -> dict[str, Any]:
    """Return the manifest of an Event (events.k8s.io/v1)."""
    metadata = involved["metadata"]
    namespace = metadata.get("namespace", "default")
    regarding = {
        "apiVersion": involved["apiVersion"],
        "kind": involved["kind"],
        "name": metadata["name"],
        "namespace": namespace,
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {
            "namespace": namespace,
            "name": f"{metadata['name']}.{int(now * 1e6):x}{random.getrandbits(16):04x}",
        },
        "eventTime": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": type_,
        "reason": reason,
        "action": action,
        "note": _cut(message),
        "regarding": {k: v for k, v in regarding.items() if v is not None},
        "reportingController": controller,
        "reportingInstance": instance[:128],
    }


def _cut(message: str) -> str:
    data = message.encode()
    if len(data) <= _NOTE_BYTES:
        return message
    return data[: _NOTE_BYTES - 3].decode("utf-8", "ignore") + "..."
