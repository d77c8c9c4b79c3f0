"""Image of a project of plugins, and its PluginVersion."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.archive import check_repository, write_image
from penstock_cli.plugin.build_traces import remove_traces
from penstock_cli.plugin.classes import InspectedPlugin, classes_of
from penstock_cli.plugin.declaration import declaration, manifest
from penstock_cli.plugin.examined import problems_of, warnings_of
from penstock_cli.plugin.installed import Installed, install
from penstock_cli.plugin.runtime_image import packages, this_architecture

__all__ = ["Built", "Contents", "build", "look_at"]

_NO_IMAGE: Final = f"plugins.example/none@sha256:{'0' * 64}"


@dataclass(frozen=True)
class Contents:
    """Contents of a plugin image.

    Attributes:
        name, version: name and version of the project's distribution.
        classes: plugins of the project.
        brought: versions of the other distributions in the image, by name.
        left_out: versions of the distributions that the project needs and the runtime already has, by name.
        warnings: problems that are likely to occur later.
    """

    name: str
    version: str
    classes: Sequence[InspectedPlugin]
    brought: Mapping[str, str]
    left_out: Mapping[str, str]
    warnings: Sequence[Problem]


@dataclass(frozen=True)
class Built:
    """Result of a build.

    Attributes:
        contents: contents of the image.
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

    The image has the project's distribution and its dependencies, except those that the runtime has. The project folder is
    not changed. The same sources give the same image, wherever and whenever they are built, as long as the build backend
    writes the same metadata and the same versions are fetched: a project that pins its backend
    (`requires = ["hatchling==1.29.0"]`) and its dependencies has the same digest on every machine. This does not hold for
    compiled code, or for the scripts that pip creates from `[project.scripts]`, whose text differs between versions of
    pip.

    Args:
        project: folder with a `pyproject.toml`, or a wheel.
        repository: the image's name, with its registry and without a tag: `plugins.example/ticker`.
        folder: folder for `<last part of the repository>.tar` and `pluginversion.yaml`; it is created.
        architecture: architecture of the image, in Go's terms (`amd64`); None: this machine's.

    Raises:
        ConfigError: it cannot be built, or a pod would reject it; the error lists all problems of that stage.
        OSError: a file cannot be read or written.
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
    """Return the contents of the image that `build` would write. Arguments and errors are those of `build`."""
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
