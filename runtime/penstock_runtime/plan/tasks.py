"""Split a connector's work into tasks, as task specs without secrets."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from penstock import ConfigError, Connector, Plugin, Problem
from penstock import _returned as returned
from penstock.config import Config
from penstock_model.connect import plugin_chain
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.topic_creation_rules import PREFIX
from penstock_model.connect.variables import Resolved, Secret
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.resources import connector as resources
from penstock_model.validation.client_overrides import OVERRIDES
from penstock_runtime.plan.java_check import has_java
from penstock_runtime.plan.problems import Findings
from penstock_runtime.plan.unresolve import put_back
from penstock_runtime.plugins.discovery import PluginRef

__all__ = [
    "check_tasks_max",
    "fingerprint",
    "framework_properties",
    "own_properties",
    "split",
    "split_hash",
    "task_specs",
]

_TOPICS = ("topics", "topics.regex")


def own_properties(config: Mapping[str, str], framework: type[Config], connector: type[Plugin]) -> dict[str, str]:
    """Return the properties that the connector gets: all except the framework's, unless its `Config` names those too.

    A connector whose `Config` has the open prefix "" gets the framework's as well, as in Kafka Connect.
    """
    frameworks = framework_properties(config, framework, connector)
    open_prefixes = connector.Config.open_prefixes
    return {
        name: text
        for name, text in config.items()
        if name not in frameworks or (open_prefixes and name.startswith(open_prefixes))
    }


def framework_properties(config: Mapping[str, str], framework: type[Config], connector: type[Plugin]) -> set[str]:
    """Return the names of the framework's properties, except those that the connector's `Config` names.

    A `Config` with the open prefix "" names them only to read them: MirrorMaker's contains all of Kafka Connect's.
    """
    names = {p.name for p in framework.properties()}
    named = () if "" in connector.Config.open_prefixes else (p.name for p in connector.Config.properties())
    mine = {*named, *_TOPICS}
    prefixes = (*(f"{c}." for c in plugin_chain.CONVERTERS), "transforms.", "predicates.", PREFIX, *OVERRIDES.values())
    closed = tuple(prefix for prefix in connector.Config.open_prefixes if prefix)
    return {
        name
        for name in config
        if name not in mine
        and not (closed and name.startswith(closed))
        and (name in names or name.startswith(prefixes))
    }


def split(
    connector: Connector, parsed: Config, properties: Mapping[str, str], name: str, most: int
) -> Sequence[Mapping[str, str]]:
    """Return the configuration of each task, variables resolved.

    Raises:
        ConfigError: the connector returned more tasks than allowed (Connect's message).
    """
    found = connector.task_configs(parsed, properties, most)
    tasks = returned.task_properties(found, returned.name(connector, "task_configs"))
    if len(tasks) > most:
        raise ConfigError(
            Problem(
                "spec.tasksMax",
                f"The connector {name} has generated {len(tasks)} tasks, which is greater than {most}, the maximum "
                f"number of tasks it is configured to create. This is a bug in the plugin; until it is fixed, "
                f"raise spec.tasksMax to {len(tasks)}.",
            )
        )
    return tasks


def check_tasks_max(connector: Connector, alias: str, most: int, findings: Findings) -> None:
    """Warn if `spec.tasksMax` requests several tasks of a plugin that never has more than one.

    A plugin that splits its work (it defines `task_configs`) may return fewer tasks if there is less to split.
    """
    if most == 1 or type(connector).task_configs is not Connector.task_configs:
        return
    part = "some of the topics" if connector.kind == "sink" else "a part of the data"
    findings.warn(
        "spec.tasksMax",
        f"has no effect above 1: {alias} always runs as one task, not as {most}. Set it to 1. For more throughput, give "
        f"its pod more CPU, which one task uses for a backlog, or create several connectors, each with {part}.",
    )


def task_specs(
    resource: resources.Connector,
    kind: str,
    plugins: Mapping[str, PluginRef[Plugin]],
    resolved: Resolved,
    kept: Mapping[str, str],
    tasks: Sequence[Mapping[str, str]],
    worker: Mapping[str, str],
    secrets_dir: Path | None,
) -> tuple[TaskSpec, ...]:
    """Return the task specs, to be completed by `TaskSpec.for_incarnation`.

    Args:
        resource: the connector.
        kind: `source` or `sink`.
        plugins: plugins by place.
        resolved: the connector's properties, resolved.
        kept: the framework's properties that every task gets, as written.
        tasks: result of `split`.
        worker: the worker's properties, as written.
        secrets_dir: folder where the task finds its secrets.

    Raises:
        ConfigError: a task's property contains a secret that cannot be replaced by its reference.
    """
    spec = resource.spec
    settings = spec.for_task()
    if not has_java(plugins):
        settings.pop("java", None)  # so that changing it does not replace tasks
    state = TaskState.PAUSED if spec.state is resources.State.PAUSED else TaskState.RUNNING
    return tuple(
        TaskSpec(
            connector=resource.connect_name,
            task=number,
            tasks=len(tasks),
            kind="source" if kind == "source" else "sink",
            generation=resource.metadata.generation,
            config={**put_back(task, spec.config, resolved.values, resolved.secrets), **kept},
            plugins={place: ref.spec() for place, ref in plugins.items()},
            worker=dict(worker),
            settings=settings,
            secrets_dir=None if secrets_dir is None else str(secrets_dir),
            state=state,
        )
        for number, task in enumerate(tasks)
    )


def split_hash(given: Sequence[Collection[str]], tasks: Sequence[TaskSpec], literals: Sequence[Secret]) -> str:
    """Return a hash of the properties that the plugin has set for each task; a different split has another hash.

    Args:
        given: by task, the names of these properties.
        tasks: the task specs, with references instead of secrets.
        literals: plaintext passwords in them. They are not hashed, since hashed values can be guessed.
    """
    hidden = Redactor(literals)
    values = [{name: hidden(task.config[name]) for name in names} for names, task in zip(given, tasks, strict=True)]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]


def fingerprint(resource: resources.Connector, plugins: Mapping[str, PluginRef[Plugin]]) -> str:
    """Return a hash of configuration, plugin versions and `tasksMax`. While it is the same, no new plan is needed."""
    facts = {
        "class": resource.spec.class_name,
        "config": dict(resource.spec.config),
        "tasksMax": resource.spec.tasks_max,
        "settings": resource.spec.for_task(),
        "plugins": {place: [ref.reference, ref.version, ref.variant] for place, ref in plugins.items()},
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
