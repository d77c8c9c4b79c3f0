"""What plugins answer in these tests when a plan is asked for."""

from collections.abc import Callable

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome, PlanAnswer
from penstock_model.contracts.task_spec import PluginReference, TaskSpec
from penstock_model.resources.connector import Connector

__all__ = ["Plugin", "good", "good_with_settings", "invalid", "tasks_of"]

Plugin = Callable[[Connector], JobAnswer | list[str]]
"""The answer, or the names of the properties that are wrong."""


def tasks_of(count: int, **config: str) -> PlanAnswer:
    """A plan of so many tasks."""
    reference = PluginReference(reference="x:Y", alias="FileStreamSource", version="1.4.2")
    return PlanAnswer(
        kind="source",
        class_name="FileStreamSource",
        version="1.4.2",
        tasks=tuple(
            TaskSpec(
                connector="shop.orders-in",
                task=n,
                tasks=count,
                kind="source",
                config={**config, "part": str(n)},
                plugins={"connector": reference},
                worker={},
            )
            for n in range(count)
        ),
        split=str(sorted(config.items())),
    )


def good(connector: Connector) -> JobAnswer | list[str]:
    """A plugin that makes as many tasks as it may, each with the whole configuration."""
    answer = tasks_of(connector.spec.tasks_max, **connector.spec.config)
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer)


def good_with_settings(connector: Connector) -> JobAnswer | list[str]:
    """The same, whose tasks have the settings of the Connector that tasks read, as real ones have."""
    answer, settings = tasks_of(connector.spec.tasks_max, **connector.spec.config), connector.spec.for_task()
    tasks = tuple(t.model_copy(update={"settings": settings}) for t in answer.tasks)
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer.model_copy(update={"tasks": tasks}))


def invalid(*problems: JobProblem) -> JobAnswer:
    """The answer to a configuration that is wrong."""
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.INVALID, problems=problems)
