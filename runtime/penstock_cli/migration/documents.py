"""Reader of connectors in documents of Kafka Connect, and of the operators that run it. Pure.

It reads, in JSON or YAML: responses of `GET /connectors/<name>`, of `GET /connectors?expand=info&expand=status` and lists
of either, and of `GET /connector-plugins`; configurations as they are POSTed or PUT; `KafkaConnector` and `KafkaConnect` of
Strimzi (and of Red Hat and IBM, whose operators are built on it) with the pods of the latter; `Connector` of Confluent for
Kubernetes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.errors import Problem
from penstock_cli.manifests.connect_forms import is_connect_form
from penstock_cli.migration.confluent import API_GROUP as CONFLUENT
from penstock_cli.migration.confluent import confluent_connector
from penstock_cli.migration.connect_cluster import connect_cluster, running_image
from penstock_cli.migration.found import Finding, Found, LeftOut, NoConnector
from penstock_cli.migration.known_plugins import known_plugins
from penstock_cli.migration.strimzi import API_GROUPS as STRIMZI
from penstock_cli.migration.strimzi import kafka_connector

__all__ = ["found_in"]

_STATES: Final = frozenset(("RUNNING", "PAUSED", "STOPPED"))


def found_in(where: str, value: Any, namespace: str | None = None, name: str | None = None) -> Iterator[Finding]:
    """Yield the connectors in a document, its data about their workers, and a problem for each incomplete part.

    Args:
        where: file and document, for messages.
        value: the document.
        namespace: namespace for the connectors; None: that of the document.
        name: name for a configuration that has none, such as the body of a PUT request.
    """
    if plugins := known_plugins(value):
        yield from plugins
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if not _is_list(item):
                yield from found_in(f"{where}[{number}]", item, namespace, name)
        if any(map(_is_list, value)):  # with YAML aliases, a few of them hold billions of items
            yield Problem(where, "has nested lists, which are not read; move their items to the outer list")
    elif not isinstance(value, Mapping):
        yield NoConnector(where)
    elif _is_list(value):
        yield from found_in(where, value["items"], namespace, name)
    elif value.get("kind") and value.get("apiVersion"):
        yield from _of_resource(where, value, namespace)
    elif value.get("kind") == "KafkaConnector":
        yield Problem(where, "has no apiVersion")
    elif value and all(isinstance(v, Mapping) and isinstance(v.get("info"), Mapping) for v in value.values()):
        for key, both in value.items():
            status = both.get("status")
            yield _of_form(f"{where}, {key}", both["info"], status if isinstance(status, Mapping) else {})
    elif is_connect_form(value):
        found = _of_form(where, value, {})
        yield found if found.name or name is None else _of_form(where, {**value, "name": name}, {})
    else:
        yield NoConnector(where)


def _is_list(value: Any) -> bool:
    """Return whether this is a list, or a resource that is one."""
    if isinstance(value, Mapping):
        return str(value.get("kind")).endswith("List") and isinstance(value.get("items"), list)
    return isinstance(value, list)


def _of_resource(where: str, value: Mapping[str, Any], target: str | None) -> Iterator[Finding]:
    group, kind = str(value["apiVersion"]).partition("/")[0], str(value["kind"])
    metadata, spec = value.get("metadata"), value.get("spec")
    if kind == "Pod":
        if image := running_image(value):
            yield image
    elif (group, kind) not in {
        (CONFLUENT, "Connector"),
        *((g, k) for g in STRIMZI for k in ("KafkaConnector", "KafkaConnect")),
    }:
        yield LeftOut(where, kind)
    elif not isinstance(metadata, Mapping) or not isinstance(spec, Mapping):
        yield Problem(where, "has no metadata or no spec")
    elif kind == "KafkaConnect":
        yield connect_cluster(metadata, spec, value.get("status"), group)
    elif kind == "KafkaConnector":
        yield kafka_connector(where, metadata, spec, target, group)
    else:
        yield confluent_connector(where, metadata, spec)


def _of_form(where: str, info: Mapping[str, Any], status: Mapping[str, Any]) -> Found:
    form = {key: info[key] for key in ("name", "config", "initial_state") if key in info} if "config" in info else info
    connector = status.get("connector")
    state = str(connector.get("state", "")) if isinstance(connector, Mapping) else ""
    notes = []
    if state in _STATES:
        form = {**form, "initial_state": state}
    elif state:
        notes.append(Problem("state", f"is {state} in Kafka Connect, but Running in the manifest"))
    elif "initial_state" not in info:
        if "config" not in form:
            form = {"config": form}
        form = {**form, "initial_state": "STOPPED"}
        notes.append(Problem("state", "is not in the input; it is Stopped in the manifest"))
    lists = [found for of in (info, status) if isinstance(found := of.get("tasks"), list)]
    tasks = [t for found in lists for t in found]
    numbers = [n for t in tasks if isinstance(t, Mapping) and isinstance(n := t.get("task", t.get("id")), int)]
    is_live = state not in ("", "STOPPED") or (not state and bool(numbers))
    kind = info.get("type") if info.get("type") in ("source", "sink") else ""
    return Found(where, form, kind=str(kind), tasks=max(numbers, default=-1) + 1, is_live=is_live, notes=tuple(notes))
