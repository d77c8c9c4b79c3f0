"""What short pods answer: from a template, as fast as a thousand of them need; or by the real work, with a real Kafka."""

import itertools
from collections.abc import Callable
from typing import Literal

from penstock_model.contracts.job import Action, JobAnswer, JobRequest, Outcome, PlanAnswer
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_spec import PluginReference, TaskSpec
from penstock_model.resources.connector import Connector
from penstock_runtime.job.answer import answer_request

__all__ = ["Answers", "real", "template"]

Answers = Callable[[JobRequest], JobAnswer]

_epochs = itertools.count(1)


def template(request: JobRequest) -> JobAnswer:
    """A plugin that makes `tasksMax` tasks, each with the whole configuration; a sink if its class says so."""
    done = JobAnswer(id=request.id, action=request.action, outcome=Outcome.DONE)
    if request.action is Action.LIST_OFFSETS:
        return done.model_copy(update={"offsets": '{"offsets":[]}'})
    prepares = request.action is Action.PREPARE or request.prepare
    number = next(_epochs)
    epoch = PlanEpoch(generation=number, plan=f"plan-{number}") if prepares else None
    if request.action is not Action.PLAN:
        return done.model_copy(update={"epoch": epoch})
    connector = Connector.draft(request.connector)
    config = {k: str(v) for k, v in connector.spec.config.items()}
    count = connector.spec.tasks_max
    version = request.mounts[0].version if request.mounts else "1.4.2"
    kind: Literal["source", "sink"] = "sink" if connector.spec.class_name.endswith("Sink") else "source"
    alias = f"FileStream{kind.title()}"
    plugins = {"connector": PluginReference(reference="x:Y", alias=alias, version=version)}
    plan = PlanAnswer(
        kind=kind,
        class_name=alias,
        version=version,
        tasks=tuple(
            TaskSpec(
                connector=connector.connect_name,
                task=n,
                tasks=count,
                kind=kind,
                config=config,
                plugins=plugins,
                worker=request.worker,
                settings=connector.spec.for_task(),
            )
            for n in range(count)
        ),
    )
    return done.model_copy(update={"plan": plan, "epoch": epoch})


def real(request: JobRequest) -> JobAnswer:
    """What the short pod's own code answers."""
    return answer_request(request, str)
