"""Looks into the image of a PluginVersion, and imports every class of it: a process of its own.

`python -m penstock_runtime.verify.look REQUEST`, with `ANSWER_VARIABLE`.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock import ConfigError, ConnectError
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.verification import VerificationRequest
from penstock_runtime.plan.mounted_images import check_class, check_images, ignored_copies
from penstock_runtime.plugins.discovery import entries_in
from penstock_runtime.plugins.mounted import append_folders
from penstock_runtime.process.termination_message import bounded
from penstock_runtime.verify.java_classes import list_classes
from penstock_runtime.verify.watch import ANSWER_VARIABLE, Answer

__all__ = ["look"]

_MOST: Final = 20
"""Problems that are told."""


def look(mount: PluginMount, begin: Callable[[str], None]) -> Answer:
    """What the image lacks of the declaration, or holds otherwise; of Java plugins, what it holds.

    Args:
        mount: the image, with what it is declared to hold, for some place.
        begin: called with the alias of each class before its import.
    """
    if mount.runtime == "Java":
        return _look_into_jars(mount)
    append_folders([mount.folder])
    if problems := [p.message for p in check_images([mount])]:
        return Answer(problems=_short(problems))
    entries = entries_in(mount.folder, mount.plugin)
    for entry in entries:
        begin(entry.alias)
        try:
            cls = entry.ref().cls
        except ConfigError as e:
            problems += [p.message for p in e.problems]
        else:
            problems += [p.message for p in check_class(mount, mount.places[0], entry.alias, cls, [mount.folder])]
    warnings = [p.message for p in ignored_copies(mount, [mount.folder])]
    return Answer(problems=_short(problems), warnings=_short(warnings), classes=tuple(e.alias for e in entries))


def _look_into_jars(mount: PluginMount) -> Answer:
    try:
        found = list_classes(mount)
    except ConfigError as e:
        return Answer(problems=_short([p.message for p in e.problems]))
    except ConnectError as e:
        return Answer(trouble=str(bounded(str(e))))
    return Answer(java=found.classes, warnings=_short([*found.warnings]))


def _short(texts: list[str]) -> tuple[str, ...]:
    return tuple(str(bounded(text)) for text in texts[:_MOST])


def main(file: str) -> None:
    """Answer the request of a file. Does not return: what a plugin leaves running keeps the process from nothing."""
    key = sys.stdin.readline().rstrip("\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    descriptor = int(os.environ.pop(ANSWER_VARIABLE))
    os.set_inheritable(descriptor, False)
    with os.fdopen(descriptor, "w", encoding="utf-8", buffering=1) as answers:
        request = VerificationRequest.from_json(Path(file).read_bytes())
        found = look(request.mount, lambda alias: print(key, json.dumps({"importing": alias}), sep="", file=answers))
        print(key, found.model_dump_json(), sep="", file=answers)
        answers.flush()
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
