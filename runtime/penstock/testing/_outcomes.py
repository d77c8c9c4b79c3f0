"""Outcomes of a transform for records, in this process and in another process."""

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

from penstock.plugin import Transform
from penstock.record import Record
from penstock.testing._comparison import exactly
from penstock.testing._making import make, parsed

__all__ = ["configured", "outcome", "outcomes_elsewhere"]


def configured(plugin: type[Transform], properties: Mapping[str, str], side: str) -> Transform:
    """Return a new transform with this configuration."""
    transform = make(plugin)
    transform.side = side
    transform.configure(parsed(plugin, properties))
    return transform


def outcome(transform: Transform, record: Record, *, raw: bool = False) -> Any:
    """Return the outcome for one record: the new record, dropped, or failed with an exception type."""
    try:
        found = transform.apply(record)
    except Exception as e:  # noqa: BLE001 (any exception is a record's failure)
        return ("failed", type(e).__name__)
    if raw:
        return found
    return ("dropped", None) if found is None else ("record", exactly(found))


def outcomes_elsewhere(
    plugin: type[Transform], properties: Mapping[str, str], side: str, records: Sequence[Record]
) -> Sequence[Any]:
    """Return the outcomes in a process with another hash seed, or nothing if the plugin cannot be created there."""
    given = (plugin.__module__, plugin.__qualname__, dict(properties), side, list(records))
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import answer; answer()"],
        input=pickle.dumps(given),
        stdout=subprocess.PIPE,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
        },
    )
    return pickle.loads(done.stdout) if done.stdout else ()  # noqa: S301 (written by `answer`)


def answer() -> None:
    """Read the arguments from standard input and write the outcomes to standard output; runs in the other process."""
    module, name, properties, side, records = pickle.load(sys.stdin.buffer)  # noqa: S301 (written by this module)
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    try:
        transform = configured(attrgetter(name)(import_module(module)), properties, side)
    except Exception:  # noqa: BLE001 (the plugin may need resources of a fixture)
        os._exit(0)
    output.write(pickle.dumps([outcome(transform, record) for record in records]))
    output.flush()
    os._exit(0)
