"""Connectors of Kafka Connect and of Strimzi, as they are found in files and in answers of the REST API. Pure.

Read are, in JSON or YAML: answers of `GET /connectors/<name>`, of `GET /connectors?expand=info&expand=status` and lists of
either, and of `GET /connector-plugins`; configurations as they are POSTed or PUT; resources `KafkaConnector` and
`KafkaConnect` of Strimzi, and the pods of the latter.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from penstock.errors import Problem
from penstock_model.resources.connector_parts import MOST
from penstock_runtime.local.migration.connect_cluster import (
    ConnectCluster,
    RunningImage,
    connect_cluster,
    running_image,
)
from penstock_runtime.local.migration.known_plugins import KnownPlugin, known_plugins
from penstock_runtime.manifests.connect_forms import is_connect_form

__all__ = ["Finding", "Found", "found_in"]

_STRIMZI: Final = "kafka.strimzi.io/"
_STATES: Final = frozenset(("RUNNING", "PAUSED", "STOPPED"))
_STRIMZI_SECRET: Final = re.compile(r"\$\{secrets:(?:([^/}:]+)/)?([^:}]+):([^}]+)\}")
_KNOWN_OF_STRIMZI: Final = ("class", "config", "tasksMax", "state", "pause", "autoRestart", "version")
_FIELD_OF: Final = {"connector.class": "spec.class", "tasks.max": "spec.tasksMax", "name": "metadata.name"}
"""Properties that a KafkaConnector cannot set in `spec.config`."""
_INSTEAD_OF: Final = {
    "listOffsets": "annotate the Connector with penstock.dev/list-offsets",
    "alterOffsets": "annotate the Connector with penstock.dev/alter-offsets",
}


@dataclass(frozen=True)
class Found:
    """A connector that was found.

    Attributes:
        where: file and place, for messages.
        form: Kafka Connect's: name, config, initial_state.
        namespace: of a Strimzi resource; None: it says none.
        restart: `spec.restart`, where the source has something of the kind.
        kind: `source` or `sink`, as Kafka Connect has it; empty: it says nothing.
        tasks: how many it is known to have had; 0: unknown.
        is_live: it runs there, or is paused.
        notes: what does not carry over.
        changes: what was found and is not taken over, with the reason.
        cluster: the `KafkaConnect` of a Strimzi resource; None: it is no such resource.
    """

    where: str
    form: Mapping[str, Any]
    namespace: str | None = None
    restart: Mapping[str, Any] | None = None
    kind: str = ""
    tasks: int = 0
    is_live: bool = False
    notes: tuple[Problem, ...] = ()
    changes: tuple[Problem, ...] = ()
    cluster: str | None = None

    @property
    def name(self) -> str:
        """The Connect name; empty: it has none."""
        config = self.form.get("config", self.form)
        name = self.form.get("name", config.get("name") if isinstance(config, Mapping) else None)
        return "" if name is None else str(name)


Finding: TypeAlias = Found | ConnectCluster | RunningImage | KnownPlugin | Problem


def found_in(where: str, value: Any, namespace: str | None = None) -> Iterator[Finding]:
    """The connectors in a document, and what is said there of their workers; a problem for what is neither.

    Args:
        where: file and document, for messages.
        value: the document.
        namespace: that the connectors are to have; None: as found.
    """
    if plugins := known_plugins(value):
        yield from plugins
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from found_in(f"{where}[{number}]", item, namespace)
    elif not isinstance(value, Mapping):
        yield Problem(where, "is no connector of Kafka Connect, and no KafkaConnector of Strimzi")
    elif str(value.get("kind")).endswith("List") and isinstance(value.get("items"), list):
        yield from found_in(where, value["items"], namespace)
    elif str(value.get("apiVersion", "")).startswith(_STRIMZI):
        yield from _of_strimzi(where, value, namespace)
    elif value.get("apiVersion") == "v1" and value.get("kind") == "Pod":
        if image := running_image(value):
            yield image
    elif value and all(isinstance(v, Mapping) and isinstance(v.get("info"), Mapping) for v in value.values()):
        for name, both in value.items():
            status = both.get("status")
            yield _of_form(f"{where}, {name}", both["info"], status if isinstance(status, Mapping) else {})
    elif is_connect_form(value):
        yield _of_form(where, value, {})
    else:
        kind = value.get("kind")
        what = f"kind {kind} is" if kind else "is"
        yield Problem(where, f"{what} no connector of Kafka Connect, and no KafkaConnector of Strimzi")


def _of_form(where: str, info: Mapping[str, Any], status: Mapping[str, Any]) -> Found:
    form = {key: info[key] for key in ("name", "config", "initial_state") if key in info} if "config" in info else info
    connector = status.get("connector")
    state = str(connector.get("state", "")) if isinstance(connector, Mapping) else ""
    notes = []
    if state in _STATES:
        form = {**form, "initial_state": state}
    elif state:
        notes.append(Problem("state", f"it is {state} in Kafka Connect; the manifest says Running"))
    elif "initial_state" not in info:
        if "config" not in form:
            form = {"config": form}
        form = {**form, "initial_state": "STOPPED"}
        notes.append(Problem("state", "it is not in what was read; the manifest says Stopped"))
    lists = [found for of in (info, status) if isinstance(found := of.get("tasks"), list)]
    tasks = [t for found in lists for t in found]
    numbers = [n for t in tasks if isinstance(t, Mapping) and isinstance(n := t.get("task", t.get("id")), int)]
    is_live = state not in ("", "STOPPED") or (not state and bool(numbers))
    kind = info.get("type") if info.get("type") in ("source", "sink") else ""
    return Found(where, form, None, None, str(kind), max(numbers, default=-1) + 1, is_live, tuple(notes))


def _of_strimzi(where: str, value: Mapping[str, Any], target: str | None) -> Iterator[Finding]:
    metadata, spec = value.get("metadata"), value.get("spec")
    if value.get("kind") not in ("KafkaConnector", "KafkaConnect"):  # as in all that is in a namespace
        return
    if not isinstance(metadata, Mapping) or not isinstance(spec, Mapping):
        yield Problem(where, "has no metadata or no spec")
    elif value["kind"] == "KafkaConnect":
        yield connect_cluster(metadata, spec, value.get("status"))
    else:
        yield _of_connector(where, metadata, spec, target)


def _of_connector(where: str, metadata: Mapping[str, Any], spec: Mapping[str, Any], target: str | None) -> Found:
    name, namespace = metadata.get("name"), metadata.get("namespace")
    notes = [
        Problem(f"spec.{field}", _INSTEAD_OF.get(field, "has no counterpart, and is left out"))
        for field in spec
        if field not in _KNOWN_OF_STRIMZI
    ]
    annotations = metadata.get("annotations")
    notes += (
        Problem(f"metadata.annotations.{a}", "is left out")
        for a in (annotations if isinstance(annotations, Mapping) else {})
        if str(a).startswith("strimzi.io/")
    )
    given = spec.get("config")
    config: dict[str, Any] = {"connector.class": spec.get("class"), "tasks.max": spec.get("tasksMax", 1)}
    changes = []
    for key, text in (given if isinstance(given, Mapping) else {}).items():
        if key in _FIELD_OF:
            changes.append(Problem(f"spec.config.{key}", f"is ignored, as Strimzi does: {_FIELD_OF[key]} counts"))
            continue
        config[key], foreign = _with_own_secrets(text, namespace, target or namespace)
        if foreign:
            notes.append(
                Problem(
                    key,
                    f"names Secret {foreign} of another namespace; a Connector takes those of its own only",
                )
            )
    if spec.get("version") is not None:
        config["connector.plugin.version"] = spec["version"]
    state = "paused" if spec.get("pause") is True and spec.get("state") is None else str(spec.get("state") or "running")
    labels = metadata.get("labels")
    return Found(
        f"{where}, KafkaConnector {name}",
        {"name": name, "config": config, "initial_state": state.upper()},
        namespace if isinstance(namespace, str) else None,
        _restart(spec.get("autoRestart")),
        tasks=0,
        is_live=state != "stopped",
        notes=tuple(notes),
        changes=tuple(changes),
        cluster=str(labels.get("strimzi.io/cluster", "")) if isinstance(labels, Mapping) else "",
    )


def _with_own_secrets(text: Any, namespace: object, target: object) -> tuple[Any, str]:
    """The text with Penstock's variables in place of Strimzi's; the first Secret of another namespace."""
    if not isinstance(text, str):
        return text, ""
    foreign = [f"{m[1] or namespace}/{m[2]}" for m in _STRIMZI_SECRET.finditer(text) if (m[1] or namespace) != target]
    if foreign:
        return text, foreign[0]
    return _STRIMZI_SECRET.sub(lambda m: f"${{secret:{m[2]}:{m[3]}}}", text), ""


def _restart(auto: object) -> dict[str, Any]:
    """`spec.restart` for Strimzi's `autoRestart`, which is off unless it is enabled."""
    if not isinstance(auto, Mapping) or auto.get("enabled") is not True:
        return {"onFailure": False}
    most = auto.get("maxRestarts")
    return {"maxRestarts": most} if isinstance(most, int) and not isinstance(most, bool) and 0 <= most <= MOST else {}
