"""pytest plugin for `penstock plugin check`: records which classes have a suite of `penstock.testing`.

One mistake may fail most tests of a suite. Therefore each cause is shown once, with only the lines of the author's code, and
the distinct causes are listed at the end, with the number of failed tests.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

__all__ = ["RECORD", "pytest_collection_finish", "pytest_configure"]

RECORD: Final = "PENSTOCK_TESTED_PLUGINS"
"""Environment variable with the name of the file to write."""

_LENGTH: Final = 400
"""Characters of a cause that are shown at the end: about five lines."""


def pytest_configure(config: "pytest.Config") -> None:
    """Register the recorder of causes."""
    config.pluginmanager.register(_Causes())


def pytest_collection_finish(session: "pytest.Session") -> None:
    """Write the classes with a suite, and their base classes, as a JSON list of `module:Class`."""
    from penstock.testing._plugins import PluginSuite

    found = set[str]()
    for item in session.items:
        suite = getattr(item, "cls", None)
        if isinstance(suite, type) and issubclass(suite, PluginSuite):
            found |= {f"{c.__module__}:{c.__qualname__}" for c in getattr(suite, "plugin", object).__mro__}
    Path(os.environ[RECORD]).write_text(json.dumps(sorted(found)), encoding="utf-8")
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "penstock":
            vars(module)["__tracebackhide__"] = True  # pytest shows no line of a module that has this


class _Causes:
    """Causes of failed tests."""

    def __init__(self) -> None:
        self._tests: dict[str, list[str]] = {}

    def pytest_exception_interact(
        self,
        node: "pytest.Item | pytest.Collector",
        call: "pytest.CallInfo[object]",
        report: "pytest.CollectReport | pytest.TestReport",
    ) -> None:
        """Omit the traceback if the cause was shown before."""
        if call.excinfo is None:
            return
        cause = call.excinfo.exconly().partition("\n")[0]
        tests = self._tests.setdefault(cause, [])
        tests.append(node.nodeid)
        if len(tests) > 1:
            report.longrepr = f"Same cause as {tests[0]}"

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Print all causes, the most frequent first."""
        if self._tests:
            terminalreporter.section("causes of failures")
        for cause, tests in sorted(self._tests.items(), key=lambda item: -len(item[1])):
            shown = cause if len(cause) <= _LENGTH else f"{cause[:_LENGTH]}..."
            count = f"{len(tests)} tests" if len(tests) > 1 else "1 test"
            terminalreporter.write_line(f"{count}: {shown} (first in {tests[0]})")
