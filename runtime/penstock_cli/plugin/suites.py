"""Test run of a plugin project, which finds the plugins that have a suite of `penstock.testing`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin import suite_recorder
from penstock_cli.plugin.classes import InspectedPlugin

__all__ = ["Tests", "run_tests", "without_a_suite"]

_NONE_FOUND: Final = 5
"""pytest's exit code if there is no test."""
_SUITES: Final = {
    "source": "SourceSuite",
    "sink": "SinkSuite",
    "transform": "TransformSuite",
    "predicate": "PredicateSuite",
    "converter": "ConverterSuite",
}
"""Suites by type of plugin. Header converters have none."""


@dataclass(frozen=True)
class Tests:
    """Result of a project's tests.

    Attributes:
        have_passed: whether there were tests, and none failed.
        in_suites: classes that have a suite, and their base classes, as `module:Class`.
    """

    have_passed: bool
    in_suites: frozenset[str]


def run_tests(project: Path) -> Tests:
    """Run the tests of a project by pytest, with the project's settings; their output goes to standard error.

    Raises:
        ConfigError: there are none, or pytest is missing.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-plugin-") as folder:
        record = Path(folder) / "suites.json"
        command = [sys.executable, "-m", "pytest"]
        done = subprocess.run(
            [*command, "-q", "--tb=short", "-rN", "-p", "no:cacheprovider", "-p", suite_recorder.__name__],
            cwd=project,
            env={**os.environ, suite_recorder.RECORD: str(record), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            check=False,
        )
        if done.returncode == _NONE_FOUND:
            raise ConfigError(
                f"cannot check {project}: it has no tests; add some, such as those that `penstock plugin init` creates"
            )
        return Tests(done.returncode == 0, frozenset(json.loads(record.read_text()) if record.exists() else ()))


def without_a_suite(classes: Sequence[InspectedPlugin], tests: Tests) -> None:
    """Raise ConfigError if a plugin has no suite.

    Raises:
        ConfigError: plugins have no suite; the message names each, with the suite to write.
    """
    if problems := [
        Problem(
            c.alias,
            f"it has no suite; write a class Test{c.alias}({_SUITES[c.type]}) with "
            f"`plugin = {c.reference.partition(':')[2]}`",
        )
        for c in classes
        if c.type in _SUITES and c.reference not in tests.in_suites
    ]:
        raise ConfigError(problems)
