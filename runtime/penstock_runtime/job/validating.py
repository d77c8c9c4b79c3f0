"""Validates a connector and splits it into tasks, every problem told at once."""

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
from penstock_runtime.manifests.worker_file import Worker, worker_from
from penstock_runtime.plan import Plan, plan
from penstock_runtime.plan.unresolve import put_back
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["Validated", "planned", "validated"]

LIMIT: Final = 900 << 10
"""Bytes of task specs; a ConfigMap holds 1 MiB."""


@dataclass(frozen=True, slots=True)
class Validated:
    """A good configuration.

    Attributes:
        answer: fit for a log: where a plugin has copied a password, `answer_line.copied` stands in its place.
        first: the first task as it will be; None: there is no task.
        warnings: what the connector's author should know.
    """

    answer: PlanAnswer
    first: TaskSpec | None
    warnings: tuple[Problem, ...]


def validated(request: JobRequest) -> Validated:
    """The plan of the request's connector.

    Raises:
        ConfigError: every problem at once, without secrets.
    """
    found, warnings = planned(request)
    unborn = tuple(map(_unborn, found.tasks))
    _check_size(unborn)
    own = Connector.draft(request.connector).spec.config
    literals = [Secret(config_reference(name), value) for name, value in found.literals.items() if name in own]
    tasks = tuple(_without(task, own, literals) for task in unborn)
    connector = found.plugins["connector"]
    answer = PlanAnswer(
        kind="source" if found.kind == "source" else "sink", class_name=connector.alias, version=connector.version,
        exactly_once=found.exactly_once, tasks=tasks, answers_health=True,
    )  # fmt: skip
    return Validated(answer, unborn[0] if unborn else None, (*found.warnings, *warnings))


def planned(request: JobRequest) -> tuple[Plan, tuple[Problem, ...]]:
    """The plan as `penstock_runtime.plan` makes it, whatever state the connector is meant to be in; more warnings.

    Raises:
        ConfigError: as `validated`.
    """
    secrets = None if request.secrets_dir is None else Path(request.secrets_dir)
    resource = Connector.draft(request.connector)
    resource = resource.model_copy(
        update={"spec": resource.spec.model_copy(update={"state": State.RUNNING})}
    ).with_reading(resource.reading)
    worker, problems = _worker(request.worker, secrets)
    try:
        found = plan(resource, worker.config, Plugins.installed(), secrets)
    except ConfigError as e:
        more = [p for p in problems if p not in e.problems]
        raise ConfigError([*more, *e.problems], e.warnings) from e
    if problems:
        raise ConfigError(problems, found.warnings)
    return found, tuple(Problem(_of_worker(w.property), w.message) for w in worker.warnings)


def _worker(texts: Mapping[str, str], secrets: Path | None) -> tuple[Worker, list[Problem]]:
    """The worker configuration; where it is wrong, what is right of it, for the connector's own problems are told too."""
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
    """As the plan names it."""
    return f"worker configuration, {name}" if name else "worker configuration"


def _without(task: TaskSpec, own: Mapping[str, str], literals: Sequence[Secret]) -> TaskSpec:
    """The task without passwords where they do not stand as the connector's author wrote them."""
    rest = {name: text for name, text in task.config.items() if own.get(name) != text}
    return task.model_copy(update={"config": {**task.config, **put_back(rest, {}, {}, literals)}})


def _unborn(spec: TaskSpec) -> TaskSpec:
    """A task spec in which nothing is of one life, so that equal plans are equal bytes."""
    return spec.for_incarnation(generation=0, incarnation=0, token="", plan="").model_copy(
        update={"state": TaskState.RUNNING}
    )


def _check_size(tasks: tuple[TaskSpec, ...]) -> None:
    size = sum(len(task.to_json().encode()) for task in tasks)
    if size > LIMIT:
        raise ConfigError(
            Problem(
                "spec.tasksMax",
                f"the configurations of {len(tasks)} tasks take {size >> 10} KiB, and {LIMIT >> 10} KiB is what the "
                f"ConfigMap of a plan holds: lower spec.tasksMax, split the connector into several, or shorten "
                f"spec.config (each task repeats it)",
            )
        )
