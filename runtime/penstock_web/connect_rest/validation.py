"""Validation of a configuration in the JSON format of Kafka Connect's REST API (`ConfigInfos`). Pure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.connect.redaction import HIDDEN
from penstock_model.connect.variables import has_variable
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import ConfigKey, config_key_info
from penstock_model.resources.connector import API_VERSION, OWNED, Connector
from penstock_model.validation.connector import PluginKnowledge, check_connector
from penstock_model.validation.topics import PolicyUse

__all__ = ["config_infos", "document_of", "problems_of"]

_FIELDS: Final[Mapping[str, str]] = {
    "spec.class": "connector.class",
    "spec.version": "connector.plugin.version",
    "spec.tasksMax": "tasks.max",
    "metadata.name": "name",
}


_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def document_of(config: Mapping[str, str], namespace: str) -> dict[str, Any]:
    """Return the Connector that a configuration of Kafka Connect describes."""
    rest = {name: text for name, text in config.items() if name not in OWNED}
    spec: dict[str, Any] = {"class": config.get("connector.class", ""), "config": rest}
    if (version := config.get("connector.plugin.version")) is not None:
        spec["version"] = version
    if (tasks := config.get("tasks.max")) is not None:
        spec["tasksMax"] = int(tasks) if _NUMBER.fullmatch(tasks.strip()) else tasks
    metadata = {"name": config.get("name", ""), "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": "Connector", "metadata": metadata, "spec": spec}


def problems_of(document: Mapping[str, Any], knowledge: PluginKnowledge, worker: WorkerConfig) -> tuple[Problem, ...]:
    """Return all problems of a Connector that are known without running its plugins, as the webhook finds them.

    Args:
        document: the Connector.
        knowledge: knowledge of the plugins of its namespace.
        worker: worker configuration.
    """
    try:
        resource = Connector.draft(document)
        check_connector(resource, worker, knowledge, PolicyUse(named=False, selected=False), lambda unknown: False)
    except ConfigError as e:
        return e.problems
    return ()


def config_infos(
    name: str, config: Mapping[str, str], keys: Sequence[ConfigKey], problems: Sequence[Problem]
) -> dict[str, Any]:
    """Return `ConfigInfos`.

    Args:
        name: the plugin, as requested.
        config: the configuration as sent.
        keys: properties of the connector.
        problems: those that `problems_of` returns.
    """
    errors: defaultdict[str, list[str]] = defaultdict(list)
    for problem in problems:
        for part in problem.property.split(", "):
            errors[_property(part)].append(problem.message)
    known = {key.name for key in keys}
    configs = [_info(key, config, errors.pop(key.name, [])) for key in keys]
    configs += [_unknown(n, config, found) for n, found in errors.items() if n not in known]
    return {
        "name": name,
        "error_count": sum(bool(c["value"]["errors"]) for c in configs),
        "groups": list(dict.fromkeys(key.group for key in keys if key.group)),
        "configs": configs,
    }


def _info(key: ConfigKey, config: Mapping[str, str], errors: Sequence[str]) -> dict[str, Any]:
    value = config.get(key.name, key.default_value)
    if key.type == "PASSWORD" and value and not has_variable(value):
        value = HIDDEN
    return {
        "definition": config_key_info(key),
        "value": {
            "name": key.name,
            "value": value,
            "recommended_values": list(key.values or ()),
            "errors": list(errors),
            "visible": True,
        },
    }


def _unknown(name: str, config: Mapping[str, str], errors: Sequence[str]) -> dict[str, Any]:
    """Return the info of a property without a definition, and its errors. In Kafka Connect, it has no definition, either."""
    value = {
        "name": name,
        "value": HIDDEN if name in config else None,
        "recommended_values": [],
        "errors": list(errors),
    }
    return {"definition": None, "value": {**value, "visible": True}}


def _property(path: str) -> str:
    return _FIELDS.get(path, path.removeprefix("spec.config."))
