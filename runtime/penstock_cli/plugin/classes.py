"""Plugins of an installed project, found by importing each in a separate process."""

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin import inspection
from penstock_cli.plugin.installed import Installed
from penstock_cli.plugin.runtime_image import PYTHON, this_architecture
from penstock_model.contracts.base import Part

__all__ = ["InspectedPlugin", "classes_of"]

_SECONDS: Final = 60
"""Seconds for all imports: the default of a pod that verifies a PluginVersion."""
_LAST: Final = 2000


class InspectedPlugin(Part):
    """Plugin that was imported.

    Attributes:
        alias: name of its entry point.
        problem: why it cannot be used; the other fields are then empty.
        type: its type, as in a PluginVersion.
        java_names: Kafka Connect classes that it replaces.
        reference: reference of its class.
        api_version: plugin API that it was written for.
        properties: names of its properties.
    """

    alias: str
    problem: str | None = None
    type: str | None = None
    java_names: tuple[str, ...] = ()
    reference: str = ""
    api_version: int = 0
    properties: tuple[str, ...] = ()


def classes_of(found: Installed, scratch: Path, architecture: str) -> Sequence[InspectedPlugin]:
    """Return all plugins of a project, sorted by alias.

    Args:
        found: the project as it will be in its image.
        scratch: folder for temporary files.
        architecture: architecture of the image; if it differs from this machine's, its native code cannot be imported here.

    Raises:
        ConfigError: plugins cannot be imported or used; the error lists all problems, by alias.
    """
    own, answer, importing = scratch / "own", scratch / "answer.json", scratch / inspection.IMPORTING
    with zipfile.ZipFile(found.wheel) as wheel:  # an unpacked wheel can be imported
        wheel.extractall(own)
    command = [sys.executable, "-m", inspection.__name__, str(own), str(found.folder), str(answer)]
    printed = scratch / "printed"
    code = _run(command, printed)
    if not answer.exists():
        text = printed.read_text(errors="replace").strip()
        shown = f"; its output:\n{text[-_LAST:]}" if text else ""
        raise ConfigError(f"cannot import {importing.read_text()}: {_ended(code)}{shown}")
    looked = TypeAdapter(list[InspectedPlugin]).validate_json(answer.read_bytes())
    if problems := [Problem(c.alias, _problem(c)) for c in looked if c.problem or c.type is None]:
        raise ConfigError([*problems, *_strange(found, architecture)])
    return sorted(looked, key=lambda c: c.alias)


def _strange(found: Installed, architecture: str) -> Iterator[Problem]:
    """Yield a problem if the import may have failed only on this machine."""
    if found.brought and (architecture != this_architecture() or sys.version_info[:2] != PYTHON):
        yield Problem(
            "",
            f"the image has {', '.join(found.brought)} for CPython {'.'.join(map(str, PYTHON))} on {architecture}, which "
            "this Python may be unable to import; install the project with its dependencies in Penstock's environment "
            "(python -m pip install --editable .), and build again",
        )


def _run(command: Sequence[str], printed: Path) -> int | None:
    """Run a process, and kill the processes that it leaves. Return its exit code, or None if it did not end in time."""
    with (
        printed.open("wb") as output,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            return process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _ended(code: int | None) -> str:
    if code is None:
        return f"it did not finish within {_SECONDS} s; a plugin must not do work or wait when it is imported"
    if code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process exited with code {code}"


def _problem(looked: InspectedPlugin) -> str:
    if looked.problem is None:
        return f"{looked.reference} is neither a connector nor a transform, predicate or converter"
    return looked.problem
