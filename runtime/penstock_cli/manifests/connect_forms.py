"""Connectors in Kafka Connect's formats, converted to equivalent manifests.

    {"name": "x", "config": {...}}     as POSTed to /connectors, and as GET /connectors/x answers
    {"connector.class": ..., ...}      as PUT to /connectors/x/config, in JSON or YAML
    connector.properties               as connect-standalone takes it

`kubectl` takes only manifests; these formats are read so that a connector can be tried with its existing file.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from penstock import Problem
from penstock.config import nearest
from penstock_java_compat.property_text import trimmed
from penstock_model.resources.base import label
from penstock_model.resources.connector import API_VERSION, NAME_LENGTH, Connector, Reading
from penstock_model.resources.values import NULL, text_of

__all__ = ["connector", "is_connect_form", "looks_like_properties"]

_FIELDS: Final = ("name", "config", "initial_state", "tasks", "type")
"""Fields of the JSON form; `tasks` and `type` come with a response of Kafka Connect and add nothing."""
_NAMES: Final = {
    "metadata.name": "name",
    "spec.class": "connector.class",
    "spec.version": "connector.plugin.version",
    "spec.tasksMax": "tasks.max",
    "spec.state": "initial_state",
}
_WORKER: Final = ("bootstrap.servers", "group.id", "offset.storage.topic", "offset.storage.file.filename")


def looks_like_properties(file: str, text: str) -> bool:
    """Return whether a file is Java properties: by its name, or by `connector.class =`, which YAML and JSON do not have."""
    if file.endswith((".yaml", ".yml", ".json")):
        return False
    return file.endswith(".properties") or re.search(r"(?m)^\s*connector\.class\s*=", text) is not None


def is_connect_form(document: Mapping[str, Any]) -> bool:
    """Return whether this is a configuration of Kafka Connect instead of a manifest."""
    if "kind" in document or "apiVersion" in document or "spec" in document:
        return False
    return "connector.class" in document or isinstance(document.get("config"), Mapping)


def connector(document: Mapping[str, Any]) -> Connector:
    """Return the connector that a configuration of Kafka Connect describes, as far as it can be read.

    Raises:
        ConfigError: it cannot be read at all.
    """
    flaws: list[Problem] = []
    config: dict[str, Any] = _texts(document)
    initial: Any = None
    if isinstance(document.get("config"), Mapping):
        config, initial = _texts(document["config"]), document.get("initial_state")
        flaws += _of_fields(document, config)
        if "name" in document:
            config["name"] = document["name"]
    spec: dict[str, Any] = {"config": {n: v for n, v in config.items() if n not in _NAMES.values()}}
    if "connector.class" in config:
        name = spec["class"] = config["connector.class"]
        if isinstance(name, str) and trimmed(name) not in ("", name):
            flaws.append(
                Problem(
                    "spec.class", "begins or ends with blanks, so Kafka Connect would not find the class; remove them"
                )
            )
    if "connector.plugin.version" in config:
        version = config["connector.plugin.version"]
        if version is None:
            flaws.append(Problem("spec.version", NULL))
        else:
            spec["version"] = str(version) if type(version) is int else version
    if "tasks.max" in config:
        spec["tasksMax"] = _number(config["tasks.max"])
    if initial is not None:
        spec["state"] = initial.capitalize() if isinstance(initial, str) else initial
    name = config.get("name")
    if isinstance(name, (str, bool, int)):
        name = trimmed(text_of(name))
    metadata: dict[str, Any] = {} if name is None else {"name": name}
    if isinstance(name, str) and _is_connects_alone(name):
        metadata, spec["connectName"] = {"name": _plain(name)}, name
    found = Connector.draft({"apiVersion": API_VERSION, "kind": "Connector", "metadata": metadata, "spec": spec})
    names = {**_NAMES, "spec.connectName": "name", **{f"spec.config.{n}": n for n in spec["config"]}}
    worker = any(n in config for n in _WORKER)
    flaws += (_explained(p, name, worker=worker) for p in found.reading.problems)
    kept = "" if found.spec.connect_name is None else f"connectName: {found.spec.connect_name}, "
    manifest = (
        f"{{kind: Connector, metadata: {{name: {found.metadata.name}}}, spec: {{class: {found.spec.class_name}, {kept}"
        f"tasksMax: {found.spec.tasks_max}, config: {{the other properties}}}}}}"
    )
    remark = Problem("", f"is in Kafka Connect's format; the equivalent manifest, which kubectl takes, is {manifest}")
    return found.with_reading(Reading(tuple(flaws), () if flaws else (remark,), names))


def _of_fields(document: Mapping[str, Any], config: Mapping[str, Any]) -> list[Problem]:
    problems = []
    for name in document:
        if name not in _FIELDS:
            near = nearest(str(name), _FIELDS)
            hint = f"did you mean {near}?" if near else "put properties of the connector into config"
            problems.append(Problem(str(name), f"is not a field of Kafka Connect's format; {hint}"))
    inner = config.get("name")
    if "name" in document and inner is not None and inner != document["name"]:
        problems.append(
            Problem("config.name", f"differs from the name outside of config ({document['name']}); remove one")
        )
    return problems


def _explained(problem: Problem, name: object, *, worker: bool) -> Problem:
    """Reword a problem of the manifest for a user who wrote Kafka Connect's format."""
    if problem.message.startswith("is missing"):
        match problem.property:
            case "metadata.name":
                return Problem(problem.property, "is missing; add it even if Kafka Connect takes it from the URL")
            case "spec.class" if worker:
                return Problem(problem.property, "is missing; pass a worker configuration with --worker")
            case "spec.class":
                return Problem(problem.property, "is missing; `penstock plugins` lists the available connectors")
            case _:
                return problem
    if problem.property == "spec.state":
        return Problem(problem.property, "must be RUNNING, PAUSED or STOPPED")
    if problem.property == "metadata.name" and isinstance(name, str) and name:
        return Problem(problem.property, "must not contain control characters")
    return problem


def _is_connects_alone(name: str) -> bool:
    """Return whether Kafka Connect accepts the name but Kubernetes does not, as for `Orders_In` (see `spec.connectName`)."""
    try:
        plain = label(name) == name and len(name) <= NAME_LENGTH
    except ValueError:
        plain = False
    return not plain and bool(name) and not any(char < " " or "\x7f" <= char <= "\x9f" for char in name)


def _plain(name: str) -> str:
    """Return a similar name that Kubernetes accepts."""
    found = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:NAME_LENGTH].strip("-")
    return found or "connector"


def _texts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties; a number becomes text as it was written (`5.0`), as Kafka Connect reads JSON."""
    return {name: repr(value) if type(value) in (int, float) else value for name, value in config.items()}


def _number(value: Any) -> Any:
    text = trimmed(value) if isinstance(value, str) else ""
    return int(text) if re.fullmatch(r"[+-]?\d{1,400}", text) else value
