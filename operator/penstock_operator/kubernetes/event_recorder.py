"""Events about objects: what one is, and which were told already. Pure."""

import random
import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from penstock_operator.kubernetes.kinds import EVENT

__all__ = ["EventMemory", "event"]

_SECONDS: Final = 600.0
_REMEMBERED: Final = 2_000
_NOTE_BYTES: Final = 1_024

Mark = tuple[str, str, str]
"""The uid of an object, reason, message."""


class EventMemory:
    """Remembers what was told in the last ten minutes. Usable by many threads."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._told: OrderedDict[Mark, float] = OrderedDict()
        self._lock = threading.Lock()

    def is_new(self, mark: Mark, now: float) -> bool:
        """Whether this is to be told now; it then counts as told."""
        with self._lock:
            if now - self._told.get(mark, -self._seconds) < self._seconds:
                return False
            self._told[mark] = now
            self._told.move_to_end(mark)
            while len(self._told) > _REMEMBERED:
                self._told.popitem(last=False)
            return True

    def forget(self, mark: Mark) -> None:
        """It could not be told."""
        with self._lock:
            self._told.pop(mark, None)


def event(
    involved: Mapping[str, Any], *, type_: str, reason: str, message: str, action: str, controller: str, instance: str,
    now: float,
) -> dict[str, Any]:  # fmt: skip
    """The manifest of an Event (events.k8s.io/v1)."""
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
