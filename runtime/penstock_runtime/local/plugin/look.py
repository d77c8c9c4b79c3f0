"""Imports the plugins of a folder, and tells what they are: a process of its own, since that runs the project's code.

`python -m penstock_runtime.local.plugin.look OWN DEPENDENCIES ANSWER`: the folder with the project alone comes first, then
what is installed here, then the folder with what the image brings. The answer is a JSON list of `LookedAt`.
"""

import json
import os
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from penstock import ConfigError
from penstock_runtime.plan.mounted_images import type_of
from penstock_runtime.plugins.discovery import entries_in

__all__ = ["IMPORTING"]

IMPORTING: Final = "importing"
"""The file beside the answer that names the plugin which is imported."""


def main(own: str, dependencies: str, answer: str) -> None:
    """Write the answer, and end this process whatever a plugin has left running."""
    sys.path.insert(0, own)
    sys.path.append(dependencies)
    (distribution,) = distributions(path=[own])
    found = []
    for entry in entries_in(own, distribution.name):
        Path(answer).with_name(IMPORTING).write_text(entry.alias, encoding="utf-8")
        told: dict[str, object] = {"alias": entry.alias}
        try:
            cls = entry.ref().cls
        except ConfigError as e:
            told["problem"] = e.problems[0].message
        else:
            told |= {
                "type": type_of(cls),
                "java_names": list(cls.java_names),
                "reference": f"{cls.__module__}:{cls.__qualname__}",
                "api_version": cls.api_version,
            }
        found.append(told)
    Path(answer).write_text(json.dumps(found), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
