"""Reporter of the plugins in a folder. It runs in a separate process, because imports run the project's code.

`python -m penstock_cli.plugin.inspection OWN DEPENDENCIES ANSWER`: the folder with only the project comes first, then
the packages installed here, then the folder with the dependencies in the image. The answer is a JSON list of
`InspectedPlugin`.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from penstock import ConfigError, Plugin
from penstock.config import nearest
from penstock_cli.plugin.project import ENTRY_POINTS
from penstock_runtime.plan.mounted_images import type_of
from penstock_runtime.plugins.discovery import PluginEntry, entries_in

__all__ = ["IMPORTING"]

IMPORTING: Final = "importing"
"""Name of a file in the answer's folder, with the plugin that is being imported."""


def main(own: str, dependencies: str, answer: str) -> None:
    """Write the answer, and exit even if a plugin has left threads running."""
    sys.path.insert(0, own)
    sys.path.append(dependencies)
    (distribution,) = distributions(path=[own])
    found = []
    for entry in entries_in(own, distribution.name):
        Path(answer).with_name(IMPORTING).write_text(entry.alias, encoding="utf-8")
        description: dict[str, object] = {"alias": entry.alias}
        try:
            cls = entry.ref().cls
        except ConfigError as e:
            description["problem"] = _mistyped(entry, e.__cause__, own) or e.problems[0].message
        else:
            description |= {
                "type": type_of(cls),
                "java_names": list(cls.java_names),
                "reference": f"{cls.__module__}:{cls.__qualname__}",
                "api_version": cls.api_version,
                "properties": [p.name for p in cls.Config.properties()],
            }
        found.append(description)
    Path(answer).write_text(json.dumps(found), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


def _mistyped(entry: PluginEntry, cause: BaseException | None, own: str) -> str | None:
    """Return the problem of an entry point that names something that the project lacks; None if it has no such problem."""
    written = f'{ENTRY_POINTS}: {entry.alias} = "{entry.path}"'
    module, colon, name = (part.strip() for part in entry.path.partition(":"))
    has = sorted(_modules(Path(own)))
    if not colon:
        return (
            f'{written} names only a module; write "module:Name", such as "{has[0] if has else module}:{entry.alias}"'
        )
    loaded = sys.modules.get(module)
    if loaded is None:
        missing = cause.name if isinstance(cause, ModuleNotFoundError) else None
        if missing is None or not f"{module}.".startswith(f"{missing}."):
            return None
        return f"{written} names the module {module}, which the project does not have; {_instead(module, has)}"
    if hasattr(loaded, name.partition(".")[0]):
        return None
    plugins = [n for n, v in vars(loaded).items() if isinstance(v, type) and issubclass(v, Plugin) and _is_own(v)]
    return f"{written} names {name}, which the module {module} does not have; {_instead(name, plugins)}"


def _modules(own: Path) -> Iterator[str]:
    for file in own.rglob("*"):
        if file.is_file() and file.name.endswith((".py", *EXTENSION_SUFFIXES)):
            parts = (*file.relative_to(own).parts[:-1], file.name.partition(".")[0])
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_own(plugin: type[Plugin]) -> bool:
    return plugin.__module__.partition(".")[0] != "penstock"


def _instead(name: str, there: Sequence[str]) -> str:
    near = nearest(name, there)
    return f"did you mean {near}?" if near else f"available: {', '.join(there) or 'none'}"


if __name__ == "__main__":
    main(*sys.argv[1:])
