"""A project of plugins as an image, and what a PluginVersion declares of it."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.archive import check_repository, write_image
from penstock_cli.plugin.classes import LookedAt, classes_of
from penstock_cli.plugin.declaration import declaration, manifest
from penstock_cli.plugin.examined import problems_of, warnings_of
from penstock_cli.plugin.installed import Installed, install
from penstock_cli.plugin.runtime_image import packages, this_architecture
from penstock_cli.plugin.traces import remove_traces

__all__ = ["Built", "Contents", "build", "look_at"]

_NO_IMAGE: Final = f"plugins.example/none@sha256:{'0' * 64}"


@dataclass(frozen=True)
class Contents:
    """What an image of plugins holds.

    Attributes:
        name, version: of the project's distribution.
        classes: its plugins.
        brought: the versions of what else the image brings, by name.
        left_out: likewise of what the project needs and the runtime has.
        warnings: what would make trouble later.
    """

    name: str
    version: str
    classes: Sequence[LookedAt]
    brought: Mapping[str, str]
    left_out: Mapping[str, str]
    warnings: Sequence[Problem]


@dataclass(frozen=True)
class Built:
    """What was written.

    Attributes:
        contents: of the image.
        image: its name by digest.
        archive: the image, as an OCI archive.
        manifest: the PluginVersion.
    """

    contents: Contents
    image: str
    archive: Path
    manifest: Path


def build(project: Path, repository: str, folder: Path, *, architecture: str | None = None) -> Built:
    """Build a project, and write its image and its PluginVersion.

    The image holds the project's distribution and what it needs, but for what the runtime has. The project folder is left as
    it is. The same sources give the same image, wherever they lie and whenever they are built, as long as the build backend
    writes the same metadata and the same versions are fetched: a project that pins its backend
    (`requires = ["hatchling==1.29.0"]`) and its dependencies has the same digest on every machine. What a backend compiles
    is outside that promise, and so are the scripts that pip makes of `[project.scripts]`: their text differs between its
    versions.

    Args:
        project: a folder with a `pyproject.toml`, or a wheel.
        repository: the image's name, with its registry and without a tag: `plugins.example/ticker`.
        folder: for `<last part of the repository>.tar` and `pluginversion.yaml`; it is made.
        architecture: of the image, in Go's words (`amd64`); None: this machine's.

    Raises:
        ConfigError: it cannot be built, or a pod would refuse it; all problems of that stage.
        OSError: something cannot be read or written.
    """
    check_repository(repository)
    chosen = architecture or this_architecture()
    archive, written = folder / f"{repository.rpartition('/')[2]}.tar", folder / "pluginversion.yaml"
    with tempfile.TemporaryDirectory(prefix="penstock-plugin-") as scratch:
        found = install(project, Path(scratch), chosen)
        contents = _contents(found, Path(scratch), chosen)
        remove_traces(found.folder)
        folder.mkdir(parents=True, exist_ok=True)
        image = write_image(found.folder, repository, archive, architecture=chosen)
    declared = declaration(contents.name, contents.version, image, contents.classes)
    written.write_text(manifest(declared), encoding="utf-8")
    return Built(contents, image, archive, written)


def look_at(project: Path, *, architecture: str | None = None) -> Contents:
    """What the image would hold that `build` makes. Arguments and errors as there."""
    chosen = architecture or this_architecture()
    with tempfile.TemporaryDirectory(prefix="penstock-plugin-") as scratch:
        return _contents(install(project, Path(scratch), chosen), Path(scratch), chosen)


def _contents(found: Installed, scratch: Path, architecture: str) -> Contents:
    if problems := [*problems_of(found, architecture)]:
        raise ConfigError(problems, warnings_of(found))
    contents = Contents(
        name=found.own.name,
        version=found.own.version,
        classes=classes_of(found, scratch, architecture),
        brought={d.name: d.version for d in found.brought.values()},
        left_out={name: packages()[name] for name in found.left_out},
        warnings=tuple(warnings_of(found)),
    )
    declaration(contents.name, contents.version, _NO_IMAGE, contents.classes)
    return contents
