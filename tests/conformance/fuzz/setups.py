"""What a task works with, given the configuration of a case: planned and set up as `penstock run` does it.

The runner of the recorded cases does the same in `connectors.set_up`; the two are to be merged.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from penstock_runtime.connect_form import connector
from penstock_runtime.discovery import Plugins
from penstock_runtime.engine.setup import Setup
from penstock_runtime.plan import plan
from penstock_runtime.worker_file import worker_from

__all__ = ["set_up"]

_SOURCE: Final = {"name": "conformance", "connector.class": "FileStreamSource", "file": "/nowhere/in", "topic": "t"}
_SINK: Final = {"name": "conformance", "connector.class": "FileStreamSink", "file": "/nowhere/out", "topics": "t"}
_PLUGINS: Final = Plugins(dataclasses.replace(entry, version="4.3.1") for entry in Plugins.installed().entries)
_WORKER: Final = worker_from({}).config


def set_up(config: Mapping[str, Any], *, sink: bool = False) -> Setup:
    """A connector with these properties; a file connector stands around them.

    Raises:
        ConfigError: every problem that the plan or the task has with it.
    """
    given = {name: text for name, text in config.items() if text is not None}
    planned = plan(connector({**(_SINK if sink else _SOURCE), **given}), _WORKER, _PLUGINS)
    return Setup.of(planned.tasks[0], slots_dir=Path())
