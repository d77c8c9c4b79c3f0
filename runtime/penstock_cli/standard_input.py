"""Standard input of `penstock run`: at most one task can read it, and none if manifests are read from it."""

from collections.abc import Sequence

from penstock.errors import ConfigError, Problem
from penstock_cli.manifests.reader import Manifest
from penstock_runtime.plan import Plan

__all__ = ["check_standard_input"]


def check_standard_input(planned: Sequence[tuple[Plan, Manifest]], files: Sequence[str]) -> None:
    """Raise ConfigError if standard input would be read twice.

    Args:
        planned: plans of this run.
        files: names of the manifest files; `-` is standard input.
    """
    problems: list[Problem] = []
    reader = "which the manifests are read from; pass them as files" if "-" in files else None
    for plan, manifest in planned:
        for task in plan.tasks:
            if plan.standard_input is None:
                continue
            if reader is not None:
                where = f"{manifest.where}: {plan.standard_input}"
                problems.append(Problem(where, f"is not set, so the task reads standard input, {reader}, or set this"))
            else:
                reader = f"which {task.id} already reads; run one of the connectors separately"
    if problems:
        raise ConfigError(dict.fromkeys(problems))
