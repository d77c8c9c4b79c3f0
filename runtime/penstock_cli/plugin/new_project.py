"""Template of a new plugin project: one plugin, its tests, a manifest, and the steps to a cluster."""

import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Final

from penstock.errors import ConfigError
from penstock_cli.plugin.runtime_image import hides_module, packages
from penstock_model.connect.plugin_names import PluginKind, is_built_in

__all__ = ["BACKEND", "FUNCTIONS", "new_project"]

BACKEND: Final = "hatchling==1.29.0"
"""Build backend of the new project. Penstock uses it too, so it is installed wherever Penstock was built."""
FUNCTIONS: Final = ("source", "sink", "transform")
"""Kinds of plugins that can be written as a function."""
_TEMPLATES: Final = Path(__file__).parent / "templates"
_NAME: Final = re.compile(r"[a-z]([a-z0-9]|-(?=[a-z0-9])){0,44}")
_FILES: Final[Mapping[str, str]] = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "connector.yaml": "{kind}/connector.txt",
    "src/{module}/__init__.py": "{kind}/{form}.txt",
    "tests/test_{module}.py": "{kind}/{form}-test.txt",
}
_KINDS: Final[Mapping[str, PluginKind]] = {
    "source": "connector",
    "sink": "connector",
    "transform": "transform",
    "predicate": "predicate",
    "converter": "converter",
}


def new_project(name: str, kind: str, within: Path | None = None, *, form: str | None = None) -> Path:
    """Write a project into a new folder of its name.

    Args:
        name: name of the distribution, such as `acme-files`. The plugin gets the name `AcmeFiles`, the module `acme_files`.
        kind: kind of the plugin, such as `source`.
        within: parent of the new folder; None: the working directory.
        form: `function` or `class`; None: a function, if the kind can be one.

    Returns:
        The new folder.

    Raises:
        ConfigError: the name cannot be used, a file or folder of that name exists, or the kind has no such form. Nothing
            was written.
        OSError: a file cannot be written.
    """
    module = name.replace("-", "_")
    alias = "".join(part.capitalize() for part in module.split("_"))
    if problems := [*_problems(name, module, alias, kind)]:
        raise ConfigError(f"cannot use the project name {name!r}: {'; '.join(problems)}; choose another one")
    form = form or ("function" if kind in FUNCTIONS else "class")
    if form == "function" and kind not in FUNCTIONS:
        kinds = f"{', '.join(FUNCTIONS[:-1])} or {FUNCTIONS[-1]}"
        raise ConfigError(f"cannot create a {kind} as a function: only a {kinds} can be one; omit --form")
    folder = (within or Path()) / name
    if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise ConfigError(f"cannot create {folder}: it already exists; choose another name, or remove it")
    plugin = module if form == "function" else alias
    words = {"name": name, "module": module, "alias": alias, "object": plugin, "kind": kind, "form": form}
    words["backend"] = BACKEND
    for file, template in _FILES.items():
        path = folder / file.format(**words)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (_TEMPLATES / template.format(**words)).read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(words), encoding="utf-8")
    return folder


def _problems(name: str, module: str, alias: str, kind: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield "it must be at most 45 lower-case letters and digits, with - between them, since its Connector gets this name"
        return
    if name in packages():
        yield "the runtime has a package of that name"
    elif keyword.iskeyword(module):
        yield f"{module} is a Python keyword"
    elif (whose := hides_module(module)) is not None:
        yield f"its module {module} would not be found, since {whose} is imported instead"
    if is_built_in(_KINDS[kind], alias):
        yield f"the plugin would get the name {alias}, which is the name of a built-in plugin"
