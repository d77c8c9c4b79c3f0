"""Reader of the `KafkaConnector` of Strimzi, and of Red Hat and IBM, whose operators are built on it. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final

from penstock.errors import Problem
from penstock_cli.migration.connect_cluster import LABELS
from penstock_cli.migration.found import Found
from penstock_model.resources.connector_parts import MOST

__all__ = ["API_GROUPS", "kafka_connector"]

API_GROUPS: Final = tuple(LABELS)
_SECRET: Final = re.compile(r"\$\{secrets:(?:([^/}:]+)/)?([^:}]+):([^}]+)\}")
_READ: Final = ("class", "config", "tasksMax", "state", "pause", "autoRestart", "version")
_FIELD_OF: Final = {"connector.class": "spec.class", "tasks.max": "spec.tasksMax", "name": "metadata.name"}
"""Properties that a KafkaConnector cannot set in `spec.config`."""
_INSTEAD_OF: Final = {
    "listOffsets": "annotate the Connector with penstock.dev/list-offsets",
    "alterOffsets": "annotate the Connector with penstock.dev/alter-offsets",
}


def kafka_connector(
    where: str, metadata: Mapping[str, Any], spec: Mapping[str, Any], target: str | None, group: str
) -> Found:
    """Read a `KafkaConnector`.

    Args:
        where: file and document, for messages.
        metadata: metadata of the resource.
        spec: spec of the resource.
        target: namespace of the Connector; None: that of the resource.
        group: API group, `kafka.strimzi.io` or IBM's.
    """
    name, namespace = metadata.get("name"), metadata.get("namespace")
    notes = [
        Problem(f"spec.{field}", _INSTEAD_OF.get(field, "has no equivalent, and is omitted"))
        for field in spec
        if field not in _READ
    ]
    annotations = metadata.get("annotations")
    notes += (
        Problem(f"metadata.annotations.{a}", "is omitted")
        for a in (annotations if isinstance(annotations, Mapping) else {})
        if str(a).startswith(f"{LABELS[group]}/")
    )
    config: dict[str, Any] = {"connector.class": spec.get("class"), "tasks.max": spec.get("tasksMax", 1)}
    changes, foreign = [], dict[str, list[str]]()
    given = spec.get("config")
    for key, text in (given if isinstance(given, Mapping) else {}).items():
        if key in _FIELD_OF:
            if str(config.get(key)) != str(text):
                changes.append(Problem(f"spec.config.{key}", f"is ignored, as in Strimzi: {_FIELD_OF[key]} is used"))
            continue
        config[key], others = _with_own_secrets(text, namespace, target or namespace)
        for other in others:
            foreign.setdefault(other, []).append(str(key))
    if spec.get("version") is not None:
        config["connector.plugin.version"] = spec["version"]
    state = "paused" if spec.get("pause") is True and spec.get("state") is None else str(spec.get("state") or "running")
    labels = metadata.get("labels")
    return Found(
        f"{where}, KafkaConnector {name}",
        {"name": name, "config": config, "initial_state": state.upper()},
        namespace if isinstance(namespace, str) else None,
        _restart(spec.get("autoRestart")),
        is_live=state != "stopped",
        problems=tuple(_foreign(other, properties) for other, properties in foreign.items()),
        notes=tuple(notes),
        changes=tuple(changes),
        cluster=str(labels.get(f"{LABELS[group]}/cluster", "")) if isinstance(labels, Mapping) else "",
        resource="kafkaconnector" if group == API_GROUPS[0] else f"kafkaconnector.{group}",
    )


def _foreign(namespace: str, properties: list[str]) -> Problem:
    names = "name" if len(properties) > 1 else "names"
    return Problem(
        ", ".join(dict.fromkeys(properties)),
        f"{names} a Secret of namespace {namespace}, but a Connector can use only those of its own namespace; import with "
        f"--namespace {namespace}",
    )


def _with_own_secrets(text: Any, namespace: object, target: object) -> tuple[Any, list[str]]:
    """Return the text with Strimzi's variables replaced with Penstock's, and the other namespaces that it names."""
    if not isinstance(text, str):
        return text, []
    foreign = [place for m in _SECRET.finditer(text) if (place := m[1] or namespace) != target]
    if foreign:
        return text, [str(place) for place in foreign]
    return _SECRET.sub(lambda m: f"${{secret:{m[2]}:{m[3]}}}", text), []


def _restart(auto: object) -> dict[str, Any]:
    """Return `spec.restart` for Strimzi's `autoRestart`, which is off unless it is enabled."""
    if not isinstance(auto, Mapping) or auto.get("enabled") is not True:
        return {"policy": "Never"}
    most = auto.get("maxRestarts")
    return {"maxRestarts": most} if isinstance(most, int) and not isinstance(most, bool) and 0 <= most <= MOST else {}
