"""The built-in plugins import what anybody's plugin may import, and no more."""

import ast
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[3] / "runtime" / "penstock_plugins"
OURS = ("penstock", "penstock_java_compat", "penstock_plugins")


def forbidden_imports(source: str) -> Iterator[str]:
    """The imports, at any depth, that the rule of the built-in plugins does not allow, as they are written."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (f"import {n.name}" for n in names if not module_allowed(n.name))
            case ast.ImportFrom(module=module, names=names, level=level):
                path = "." * level + (module or "")
                if level or not module_allowed(path):
                    yield f"from {path}"
                else:
                    yield from (f"from {path} import {n.name}" for n in names if not name_allowed(path, n.name))
            case _:
                pass


def module_allowed(path: str) -> bool:
    root, *parts = path.split(".")
    if root != "penstock_plugins" and any(part.startswith("_") for part in parts):
        return False  # the built-in plugins' own package may have such modules, as anybody's may
    return root in OURS or (not root.startswith(("penstock", "_")) and root != "tests")


def name_allowed(module: str, name: str) -> bool:
    if name.startswith("_") or name == "*":
        return False
    if module.split(".")[0] != "penstock":
        return True
    return name in importlib.import_module(module).__all__ or submodule_exists(f"{module}.{name}")


def submodule_exists(path: str) -> bool:
    try:
        return find_spec(path) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


FILES = sorted(PLUGINS.rglob("*.py"))


@pytest.mark.parametrize("file", [pytest.param(file, id=str(file.relative_to(PLUGINS))) for file in FILES])
def test_built_in_plugins_import_public_names_only(file: Path) -> None:
    assert list(forbidden_imports(file.read_text())) == []


def test_there_are_plugins_to_look_at() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize(
    "line",
    [
        "import penstock_model",
        "import penstock_runtime.task",
        "import penstock._schema_json",
        "from penstock import _schema_json",
        "from penstock._schema_json import schema_to_json",
        "from penstock import held_headers",
        "from penstock.schema import replace",
        "from penstock.batch import T",
        "from penstock_plugins.transforms.cast import _private",
        "from penstock_java_compat.regex import _private",
        "from penstock import *",
        "from . import neighbour",
        "def later():\n    from penstock_operator.main import main",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from penstock_model.connect import versions",
    ],
)
def test_a_forbidden_import_is_noticed(line: str) -> None:
    assert len(list(forbidden_imports(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "import re",
        "import penstock",
        "import pyspark.sql",
        "from penstock import Record, prop",
        "from penstock import schema",
        "from penstock.schema import STRING, struct",
        "from penstock.testing import TransformSuite",
        "from penstock_java_compat.regex import compile_java",
        "from penstock_plugins.structs.copy import StructCopy",
        "from penstock_plugins.transforms._cast_values import cast",
    ],
)
def test_a_public_import_is_allowed(line: str) -> None:
    assert list(forbidden_imports(line)) == []
