"""A plugin of pytest that writes down which classes stand in a suite of `penstock.testing`."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

__all__ = ["RECORD", "pytest_collection_finish"]

RECORD: Final = "PENSTOCK_TESTED_PLUGINS"
"""The variable that names the file to write."""


def pytest_collection_finish(session: "pytest.Session") -> None:
    """Write the classes, and those that they derive from, as a JSON list of `module:Class`."""
    from penstock.testing._plugins import PluginSuite

    found = set[str]()
    for item in session.items:
        suite = getattr(item, "cls", None)
        if isinstance(suite, type) and issubclass(suite, PluginSuite):
            found |= {f"{c.__module__}:{c.__qualname__}" for c in suite.plugin.__mro__}
    Path(os.environ[RECORD]).write_text(json.dumps(sorted(found)), encoding="utf-8")
