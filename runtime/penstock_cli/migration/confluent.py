"""Reader of Confluent for Kubernetes' `Connector`. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from penstock.errors import Problem
from penstock_cli.migration.found import Found
from penstock_model.resources.connector_parts import MOST

__all__ = ["API_GROUP", "confluent_connector"]

API_GROUP: Final = "platform.confluent.io"
_READ: Final = ("name", "class", "taskMax", "configs", "restartPolicy", "connectClusterRef", "connectRest")
_FIELD_OF: Final = {"connector.class": "spec.class", "tasks.max": "spec.taskMax", "name": "the name of the resource"}
"""Properties in `spec.configs` that also have a field."""


def confluent_connector(where: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Found:
    """Read a `Connector`. Its state is always RUNNING, because its resource has no field for another state."""
    given = spec.get("configs")
    config: dict[str, Any] = {"connector.class": spec.get("class"), "tasks.max": spec.get("taskMax", 1)}
    changes = []
    for key, text in (given if isinstance(given, Mapping) else {}).items():
        if key in _FIELD_OF:
            if str(config.get(key, text)) != str(text):
                changes.append(Problem(f"spec.configs.{key}", f"is ignored: {_FIELD_OF[key]} takes precedence"))
            continue
        config[key] = text
    namespace, name = metadata.get("namespace"), spec.get("name") or metadata.get("name")
    return Found(
        f"{where}, Connector {name}",
        {"name": name, "config": config, "initial_state": "RUNNING"},
        namespace if isinstance(namespace, str) else None,
        _restart(spec.get("restartPolicy")),
        is_live=True,
        notes=tuple(Problem(f"spec.{f}", "has no equivalent, and is omitted") for f in spec if f not in _READ),
        changes=tuple(changes),
    )


def _restart(policy: object) -> dict[str, Any]:
    """Return `spec.restart` for a `restartPolicy`, which is OnFailure unless it is Never."""
    given = policy if isinstance(policy, Mapping) else {}
    if given.get("type") == "Never":
        return {"policy": "Never"}
    most = given.get("maxRetry")
    return {"maxRestarts": most} if isinstance(most, int) and not isinstance(most, bool) and 0 <= most <= MOST else {}
