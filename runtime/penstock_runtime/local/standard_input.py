"""Whose standard input it is: that of one task at most, and of none where manifests were read from it."""

from collections.abc import Sequence

from penstock.errors import ConfigError, Problem
from penstock_runtime.manifests.reader import Manifest
from penstock_runtime.plan import Plan

__all__ = ["check_standard_input"]


def check_standard_input(planned: Sequence[tuple[Plan, Manifest]], files: Sequence[str]) -> None:
    """Raise ConfigError where standard input would be read twice.

    Args:
        planned: what is to run.
        files: where its manifests were read; `-` is standard input.
    """
    problems: list[Problem] = []
    reader = "manifests were read from it: give them as files" if "-" in files else None
    for one, manifest in planned:
        for task in one.tasks:
            if one.standard_input is None:
                continue
            if reader is not None:
                where = f"{manifest.where}: {one.standard_input}"
                problems.append(Problem(where, f"is not set, so standard input is read, and {reader}, or set it"))
            else:
                reader = f"{task.id} reads it already: run one of them elsewhere"
    if problems:
        raise ConfigError(dict.fromkeys(problems))
