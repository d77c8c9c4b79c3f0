"""What `penstock` exports is chosen, documented and listed in docs/plugins.md, and nothing else is public."""

import ast
import enum
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import penstock

GUIDE = Path(__file__).parents[3] / "docs" / "plugins.md"


def public_modules() -> list[str]:
    """Every module without an underscore in its path, `penstock` first."""
    walked = pkgutil.walk_packages(penstock.__path__, "penstock.")
    return ["penstock", *sorted(m.name for m in walked if "._" not in m.name)]


def listed_names() -> dict[str, tuple[set[str], set[str]]]:
    """The reference table of the guide: for each module the names that `penstock` has too, and those of the module alone."""
    _, _, reference = GUIDE.read_text().partition("\n## Reference\n")
    rows = re.findall(r"^\| `(penstock[\w.]*)` \|([^|]*)\|([^|]*)\|", reference, re.MULTILINE)
    assert len(rows) == len({module for module, _, _ in rows}), "a module has two rows"
    return {module: (set(re.findall(r"`(\w+)`", top)), set(re.findall(r"`(\w+)`", own))) for module, top, own in rows}


def documented_constants(module: ModuleType) -> set[str]:
    """Names that are assigned right above a text; the text documents all assignments that no blank line parts from it."""
    documented: set[str] = set()
    block: set[str] = set()
    last_line = 0
    for node in ast.parse(inspect.getsource(module)).body:
        adjacent = node.lineno == last_line + 1
        last_line = node.end_lineno or node.lineno
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                block = {*block, name} if adjacent else {name}
            case ast.Expr(value=ast.Constant(value=str())):
                documented |= block if adjacent else set()
                block = set()
            case _:
                block = set()
    return documented


def defined_names(module: ModuleType) -> Iterator[str]:
    """Public names that the module itself defines, and does not import."""
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ) if not name.startswith("_"):
                yield name


@pytest.mark.parametrize("name", public_modules())
def test_each_public_module_lists_names_that_can_be_imported(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__) > 0
    assert not [exported for exported in module.__all__ if not hasattr(module, exported)]
    assert not [exported for exported in module.__all__ if exported.startswith("_")]


@pytest.mark.parametrize("name", public_modules())
def test_what_a_public_module_defines_is_exported_or_has_an_underscore(name: str) -> None:
    module = importlib.import_module(name)
    assert set(defined_names(module)) <= set(module.__all__)


def test_nothing_leaks_from_the_namespace() -> None:
    """In a process of its own: tests that ran before may have imported any module."""
    probe = (
        "import importlib, penstock\n"
        f"for name in {public_modules()}: importlib.import_module(name)\n"
        "print(*(name for name in vars(penstock) if not name.startswith('_')))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    submodules = {name.removeprefix("penstock.") for name in public_modules() if name.count(".") == 1}
    assert set(printed.split()) == {*penstock.__all__, *submodules}


@pytest.mark.parametrize("name", public_modules())
def test_every_exported_name_has_a_docstring_of_its_own(name: str) -> None:
    module = importlib.import_module(name)
    undocumented = []
    for exported in module.__all__:
        value = getattr(module, exported)
        if inspect.isclass(value) or inspect.isfunction(value):
            home = importlib.import_module(value.__module__)
            tree = ast.parse(inspect.getsource(home)).body
            own = {n.name: ast.get_docstring(n) for n in tree if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
            if own.get(value.__name__):
                continue
        if any(exported in documented_constants(importlib.import_module(m)) for m in public_modules()):
            continue
        undocumented.append(exported)
    assert not undocumented


def exported_classes() -> list[type]:
    modules = map(importlib.import_module, public_modules())
    values = {
        getattr(module, name) for module in modules for name in module.__all__ if inspect.isclass(getattr(module, name))
    }
    return sorted((v for v in values if v.__module__.startswith("penstock.")), key=lambda c: (c.__module__, c.__name__))


@pytest.mark.parametrize("cls", exported_classes())
def test_every_public_method_has_a_docstring(cls: type) -> None:
    if issubclass(cls, enum.Enum):
        return
    public = {name: member for name, member in vars(cls).items() if not name.startswith("_")}
    methods = {n: m for n, m in public.items() if inspect.isroutine(m) or isinstance(m, (property, classmethod))}
    assert not [name for name, member in methods.items() if not member.__doc__]


def test_the_guide_lists_every_module_and_every_name() -> None:
    shared = {name: set(importlib.import_module(name).__all__) & set(penstock.__all__) for name in public_modules()[1:]}
    own = {name: set(importlib.import_module(name).__all__) - set(penstock.__all__) for name in public_modules()[1:]}
    assert listed_names() == {name: (shared[name], own[name]) for name in public_modules()[1:]}
    assert set().union(*shared.values()) == set(penstock.__all__)
