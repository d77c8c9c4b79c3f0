"""Executors of a Connector, as its user sees them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from .api import Object
from .place import Connector, Place, condition

__all__ = ["delivered_once", "executors", "running", "says", "secrets"]

_SMALL: Final = {"requests": {"cpu": "50m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
_PARTS: Final = 4


def executors(most: int, least: int = 0) -> dict[str, Any]:
    return {"min": least, "max": most, "resources": _SMALL}


def running(pods: Mapping[str, Object], begin: str = "") -> list[str]:
    """The names of executors that run and are not being deleted."""
    return sorted(
        name
        for name, pod in pods.items()
        if pod["metadata"]["labels"]["penstock.dev/role"] == "executor"
        and pod["status"].get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        and name.startswith(begin)
    )


def says(connector: Connector, status: str, reason: str, *words: str, limit: float = 120) -> str:
    """The message of `ExecutorsReady`, as soon as it is this."""

    def there(found: Object) -> str | None:
        own = condition(found, "ExecutorsReady")
        is_it = (own.get("status"), own.get("reason")) == (status, reason)
        return str(own["message"]) if is_it and all(w in own["message"] for w in words) else None

    return connector.until(there, f"ExecutorsReady is {status} {reason} {words}", limit)


def secrets(place: Place) -> dict[str, str]:
    """The pods of tasks that own a Secret for executors, by its name."""
    found = place.cluster.api.list("secrets", place.namespace, labels="penstock.dev/role=executor")
    return {s["metadata"]["name"]: s["metadata"]["ownerReferences"][0]["name"] for s in found}


def delivered_once(place: Place, source: Connector, count: int, seconds: float = 600) -> None:
    """Wait for all records of a counting source, `count` in each part, and check that each is there once."""
    records = place.kafka.records(source.topic, least=_PARTS * count, seconds=seconds)
    assert [value for value, number in Counter(r.value for r in records).items() if number > 1] == []
    assert len(records) == _PARTS * count
