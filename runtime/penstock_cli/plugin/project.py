"""Settings of a plugin project in its pyproject.toml, read before anything is built."""

import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.layer import is_bytecode
from penstock_cli.plugin.runtime_image import packages
from penstock_runtime.plugins.discovery import GROUP

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["ENTRY_POINTS", "Project", "copied", "is_project", "is_wheel", "read_project"]

ENTRY_POINTS: Final = f'project.entry-points."{GROUP}"'
_FILE: Final = "pyproject.toml"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _BuildSystem(_Part):
    requires: tuple[str, ...] = ("setuptools>=40.8.0", "wheel")  # pip's default if the table is missing


class _ProjectTable(_Part):
    name: str = ""
    version: str | None = None
    dynamic: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    entry_points: Mapping[str, Mapping[str, str]] = Field(default={}, alias="entry-points")


class _File(_Part):
    project: _ProjectTable | None = None
    build_system: _BuildSystem = Field(default=_BuildSystem(), alias="build-system")


@dataclass(frozen=True)
class Project:
    """Project that can be built.

    Attributes:
        build_requires: its build requirements, from `[build-system] requires`.
    """

    build_requires: tuple[str, ...]

    @property
    def can_be_built_here(self) -> bool:
        """Return whether all build requirements are installed with Penstock, so that they need not be fetched."""
        return all(map(_is_installed, self.build_requires))


def is_wheel(project: Path) -> bool:
    """Return whether the path is a wheel file."""
    return project.is_file() and project.suffix == ".whl"


def is_project(folder: Path) -> bool:
    """Return whether the path is a folder with a project in it."""
    return (folder / _FILE).is_file()


def read_project(folder: Path) -> Project:
    """Read the pyproject.toml of a project.

    Raises:
        ConfigError: it is not a plugin project; the error lists all problems, by the key to correct.
    """
    file = folder / _FILE
    if not file.is_file():
        raise ConfigError(f"{folder} is not a plugin project: it is neither a wheel nor a folder with a {_FILE}")
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read {file}: it is not TOML: {e}") from e
    try:
        found = _File.model_validate(document)
    except ValidationError as e:
        raise ConfigError(map(_wrong_type, e.errors(include_url=False))) from e
    if problems := [*_problems(found)]:
        raise ConfigError(Problem(f"{_FILE}: {p.property}", p.message) for p in problems)
    return Project(found.build_system.requires)


def copied(folder: Path, to: Path) -> Path:
    """Copy the sources of a project, because some backends leave files where they build.

    Raises:
        ConfigError: a file cannot be read.
    """
    try:
        shutil.copytree(folder, to, symlinks=True, ignore=_not_sources)
    except shutil.Error as e:  # has (from, to, reason) for each file
        raise ConfigError(f"cannot read the project {folder}: " + "; ".join(r for _, _, r in e.args[0])) from e
    return to


def _problems(file: "_File") -> Iterator[Problem]:
    project = file.project
    if project is None:
        yield Problem("project", 'is missing; add the table with name = "...", version = "..." and the entry points')
        return
    if not project.name:
        yield Problem(
            "project.name", 'is missing; add one for all versions of the plugins, such as name = "acme-files"'
        )
    elif canonicalize_name(project.name) in packages():
        yield Problem("project.name", f"{project.name} is the name of a package of the runtime; choose another name")
    if project.version is not None or "version" not in project.dynamic:
        yield from _version(project.version)
    if not project.entry_points.get(GROUP) and "entry-points" not in project.dynamic:
        yield Problem(ENTRY_POINTS, 'is missing; add a line for each plugin, such as Files = "acme_files:Files"')
    for key, texts in (
        ("project.dependencies", project.dependencies),
        ("build-system.requires", file.build_system.requires),
    ):
        for text in texts:
            try:
                Requirement(text)
            except InvalidRequirement as e:
                yield Problem(key, f"{text!r} is not a requirement: {e}".splitlines()[0])


def _version(text: str | None) -> Iterator[Problem]:
    if text is None:
        yield Problem(
            "project.version", 'is missing; add one for all plugins of the project, such as version = "1.0.0"'
        )
        return
    try:
        Version(text)
    except InvalidVersion:
        yield Problem("project.version", f"{text!r} is not a version; write one such as 1.4.2")


def _wrong_type(error: "ErrorDetails") -> Problem:
    return Problem(f"{_FILE}: {'.'.join(map(str, error['loc']))}", f"{error['msg']}, but it is {error['input']!r}")


def _is_installed(text: str) -> bool:
    requirement = Requirement(text)
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    try:
        return requirement.specifier.contains(version(requirement.name), prereleases=True)
    except PackageNotFoundError:
        return False


def _not_sources(folder: str, names: list[str]) -> set[str]:
    """Return the names of what other builds and tools left in a project folder. A backend would mistake some for sources."""
    return {name for name in names if is_bytecode(name) or _is_left_over(Path(folder) / name)}


def _is_left_over(path: Path) -> bool:
    if path.is_dir():
        is_environment = (path / "pyvenv.cfg").exists()
        is_build = path.parent.name == "build" and path.name.startswith(("lib", "bdist."))  # setuptools
        return is_environment or is_build or path.name.endswith(".egg-info")
    return not path.is_file() and not path.is_symlink()
