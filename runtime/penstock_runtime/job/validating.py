"""Validate a connector and split it into tasks, or report all problems together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_model.connect.variables import Secret
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.job import JobRequest, PlanAnswer
from penstock_model.contracts.job_answer import config_reference
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.resources.connector import Connector, State
from penstock_runtime.plan import Plan, plan
from penstock_runtime.plan.mounted_images import check_classes, check_images, ignored_copies
from penstock_runtime.plan.tasks import split_hash
from penstock_runtime.plan.unresolve import put_back
from penstock_runtime.plan.worker_check import Worker, worker_from
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.mounted import python_folders

__all__ = ["Validated", "planned", "validate"]

LIMIT: Final = 900 << 10
"""Maximum bytes of task specs; a ConfigMap holds 1 MiB."""


@dataclass(frozen=True, slots=True)
class Validated:
    """Plan of a valid configuration.

    Attributes:
        answer: answer without passwords, because it goes to a log. Passwords copied by a plugin are replaced by references.
        first: first task, complete; None: there is no task.
        warnings: warnings for the author of the connector.
    """

    answer: PlanAnswer
    first: TaskSpec | None
    warnings: tuple[Problem, ...]


def validate(request: JobRequest) -> Validated:
    """Return the plan of the request's connector.

    Raises:
        ConfigError: the connector is invalid; it contains all problems, without secrets.
    """
    valid_plan, warnings = planned(request)
    complete = tuple(map(_strip_incarnation, valid_plan.tasks))
    _check_size(complete)
    own = Connector.draft(request.connector).spec.config
    literals = [Secret(config_reference(name), value) for name, value in valid_plan.literals.items() if name in own]
    tasks = tuple(_put_back_literals(task, own, literals) for task in complete)
    connector = valid_plan.plugins["connector"]
    answer = PlanAnswer(
        kind="source" if valid_plan.kind == "source" else "sink",
        class_name=connector.alias,
        version=connector.version,
        exactly_once=valid_plan.exactly_once,
        tasks=tasks,
        split=split_hash(valid_plan.given, tasks, literals),
    )
    return Validated(answer, complete[0] if complete else None, (*valid_plan.warnings, *warnings))


def planned(request: JobRequest, *, splits: bool = True) -> tuple[Plan, tuple[Problem, ...]]:
    """Return the plan, for any `spec.state`, and warnings about the worker configuration.

    Args:
        request: holds the connector.
        splits: as for `plan`.

    Raises:
        ConfigError: as in `validate`.
    """
    secrets = None if request.secrets_dir is None else Path(request.secrets_dir)
    resource = Connector.draft(request.connector)
    resource = resource.model_copy(
        update={"spec": resource.spec.model_copy(update={"state": State.RUNNING})}
    ).with_reading(resource.reading)
    worker, problems = _worker(request.worker, secrets)
    if of_images := check_images(request.mounts):  # then their classes are not imported
        raise ConfigError([*problems, *resource.reading.problems, *of_images])
    try:
        found = plan(
            resource,
            worker.config,
            Plugins.installed(request.mounts),
            secrets,
            policy_selects=request.selected,
            registered=request.registered,
            splits=splits,
        )
    except ConfigError as e:
        more = [p for p in problems if p not in e.problems]
        raise ConfigError([*more, *e.problems], e.warnings) from e
    folders, of_python = python_folders(request.mounts), [m for m in request.mounts if m.runtime == "Python"]
    problems += (p for mount in of_python for p in check_classes(mount, found.plugins, folders))
    if problems:
        raise ConfigError(problems, found.warnings)
    of_worker = (Problem(_of_worker(w.property), w.message) for w in worker.warnings)
    return found, (*of_worker, *(w for mount in of_python for w in ignored_copies(mount, folders)))


def _worker(texts: Mapping[str, str], secrets: Path | None) -> tuple[Worker, list[Problem]]:
    """Return the worker configuration without invalid properties, so that the connector can be checked, and its problems."""
    try:
        worker = worker_from(texts, secrets)
    except ConfigError as e:
        named = [Problem(_of_worker(p.property), p.message) for p in e.problems]
        wrong = {p.property for p in e.problems}
        rest = {n: t for n, t in texts.items() if n not in wrong}
        try:
            return Worker(worker_from(rest, secrets).config, ()), named
        except ConfigError:
            return Worker(WorkerConfig.parse({}), ()), named
    if worker.config.bootstrap_servers is None:
        missing = "is missing: name the brokers (host:port, host:port)"
        return worker, [Problem(_of_worker("bootstrap.servers"), missing)]
    return worker, []


def _of_worker(name: str) -> str:
    """Return the name of a worker property in problems, as in a plan."""
    return f"worker configuration, {name}" if name else "worker configuration"


def _put_back_literals(task: TaskSpec, own: Mapping[str, str], literals: Sequence[Secret]) -> TaskSpec:
    """Replace literal passwords in the task by references, except in properties that the plugin left unchanged."""
    rest = {name: text for name, text in task.config.items() if own.get(name) != text}
    return task.model_copy(update={"config": {**task.config, **put_back(rest, {}, {}, literals)}})


def _strip_incarnation(spec: TaskSpec) -> TaskSpec:
    """Return the task spec without an incarnation, so that equal plans are equal bytes."""
    return spec.for_incarnation(generation=0, incarnation=0, token="", plan="").model_copy(
        update={"state": TaskState.RUNNING}
    )


def _check_size(tasks: tuple[TaskSpec, ...]) -> None:
    size = sum(len(task.to_json().encode()) for task in tasks)
    if size > LIMIT:
        raise ConfigError(
            Problem(
                "spec.tasksMax",
                f"the configurations of {len(tasks)} tasks take {size >> 10} KiB, and the ConfigMap of a plan holds at "
                f"most {LIMIT >> 10} KiB; lower spec.tasksMax, split the connector into several, or shorten "
                f"spec.config (each task repeats it)",
            )
        )
