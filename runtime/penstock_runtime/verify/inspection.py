"""Inspect the image of a PluginVersion in a separate process: import all classes and read their configuration definitions.

Run as `python -m penstock_runtime.verify.inspection REQUEST`, with `ANSWER_VARIABLE` set.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from posixpath import normpath
from typing import Any, Final, NamedTuple

from penstock import ConfigError, ConnectError
from penstock_model.contracts.definitions import ClassDefinition
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.verification import FoundClass, VerificationRequest
from penstock_runtime.java_plugins.catalog import config_keys
from penstock_runtime.plan.mounted_images import check_class, check_images, ignored_copies
from penstock_runtime.plugins.definitions import definition_of
from penstock_runtime.plugins.discovery import entries_in
from penstock_runtime.plugins.mounted import append_folders
from penstock_runtime.process.termination_message import bounded
from penstock_runtime.verify.java_classes import list_classes
from penstock_runtime.verify.watch import ANSWER_VARIABLE, Answer

__all__ = ["Inspection", "inspect_image"]

_MOST: Final = 20
"""Maximum number of problems to report."""


class Inspection(NamedTuple):
    """Result of inspecting an image.

    Attributes:
        answer: problems of the image, or its classes.
        definitions: for each class, a function that reads its configuration definition.
    """

    answer: Answer
    definitions: Sequence[tuple[str, Callable[[], ClassDefinition]]] = ()

    def defined(self) -> Iterator[dict[str, Any]]:
        """Yield the definitions in the form that the watching process reads."""
        for name, definition in self.definitions:
            try:
                yield {"definition": definition().model_dump(mode="json", by_alias=True)}
            except (Exception, SystemExit) as e:  # noqa: BLE001 (code of the plugin)
                cause = str(e) if isinstance(e, ConnectError) else f"{type(e).__name__}: {e}"
                yield {"undefined": f"cannot read the configuration of {name}: {cause}"}


def inspect_image(mount: PluginMount, begin: Callable[[str], None]) -> Inspection:
    """Return differences between the image and its declaration, or its classes; list the classes of Java plugins.

    Args:
        mount: mount of the image, for any plugin position, with its declaration.
        begin: called with the alias of each class before its import.
    """
    if mount.runtime == "Java":
        return _inspect_jars(mount)
    append_folders([mount.folder])
    if problems := [p.message for p in check_images([mount])]:
        return Inspection(Answer(problems=_short(problems)))
    entries = entries_in(mount.folder, mount.plugin)
    definitions = []
    for entry in entries:
        begin(entry.alias)
        try:
            cls = entry.ref().cls
        except ConfigError as e:
            problems += [p.message for p in e.problems]
        else:
            problems += [p.message for p in check_class(mount, mount.places[0], entry.alias, cls, [mount.folder])]
            definitions.append((entry.alias, partial(definition_of, entry.alias, cls, entry.version)))
    if problems:
        return Inspection(Answer(problems=_short(problems)))
    warnings = [p.message for p in ignored_copies(mount, [mount.folder])]
    return Inspection(Answer(warnings=_short(warnings), classes=tuple(e.alias for e in entries)), definitions)


def _inspect_jars(mount: PluginMount) -> Inspection:
    try:
        found = list_classes(mount)
    except ConfigError as e:
        return Inspection(Answer(problems=_short([p.message for p in e.problems])))
    except ConnectError as e:
        return Inspection(Answer(trouble=str(bounded(str(e)))))
    definitions = [(c.class_name, partial(_definition_in_jars, c, mount.folder)) for c in found.classes]
    return Inspection(Answer(java=found.classes, warnings=_short([*found.warnings])), definitions)


def _definition_in_jars(found: FoundClass, folder: str) -> ClassDefinition:
    """Return the definition of a class, from the first place if several have the same version."""
    keys = config_keys(normpath(f"{folder}/{found.paths[0]}"), found.class_name)
    return ClassDefinition(
        class_name=found.class_name, type=found.type, version=found.version, paths=found.paths, config=keys
    )


def _short(texts: list[str]) -> tuple[str, ...]:
    return tuple(str(bounded(text)) for text in texts[:_MOST])


def main(file: str) -> None:
    """Answer the request in a file. Does not return but exits, so that threads of a plugin cannot keep the process alive."""
    key = sys.stdin.readline().rstrip("\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    descriptor = int(os.environ.pop(ANSWER_VARIABLE))
    os.set_inheritable(descriptor, False)
    with os.fdopen(descriptor, "w", encoding="utf-8", buffering=1) as answers:
        request = VerificationRequest.from_json(Path(file).read_bytes())
        found = inspect_image(
            request.mount, lambda alias: print(key, json.dumps({"importing": alias}), sep="", file=answers)
        )
        print(key, found.answer.model_dump_json(), sep="", file=answers)
        for line in chain(found.defined(), [{"end": True}]):
            print(key, json.dumps(line), sep="", file=answers)
        answers.flush()
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
