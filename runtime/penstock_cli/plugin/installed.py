"""Installer of a project and its dependencies, by pip, into a folder with the contents of the image."""

import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename

from penstock.errors import ConfigError, Problem
from penstock_cli.plugin.pip import PipError, pip
from penstock_cli.plugin.project import copied, is_wheel, read_project
from penstock_cli.plugin.runtime_image import PYTHON, marker_environment, packages, platforms, tags
from penstock_runtime.plugins.mounted import distributions

__all__ = ["Installed", "install", "needed"]

_STAND_IN: Final = "runtime"
"""Local version label of the empty wheels that represent packages of the runtime: pip chooses `2.12.0+runtime` if 2.12.0 is
required."""
_ABIS: Final = (f"cp{PYTHON[0]}{PYTHON[1]}", "abi3", "none")


@dataclass(frozen=True)
class Installed:
    """Contents of an image before it is written.

    Attributes:
        folder: folder of its files.
        wheel: wheel of only the project.
        own: distribution of the project.
        brought: other distributions in the image, by name.
        left_out: names of the distributions that the project needs and the runtime already has.
    """

    folder: Path
    wheel: Path
    own: Distribution
    brought: Mapping[NormalizedName, Distribution]
    left_out: tuple[NormalizedName, ...]


def install(project: Path, scratch: Path, architecture: str) -> Installed:
    """Build a project, and install it with its dependencies that the runtime does not have.

    If the runtime has all of them, and the build requirements are installed here, nothing is fetched. Otherwise pip fetches
    them with the user's settings: only wheels, for the Python and the architecture of the runtime's image, in versions that
    are compatible with the packages of the runtime.

    Args:
        project: folder with a `pyproject.toml`, or a wheel.
        scratch: empty folder for temporary files and the result.
        architecture: architecture of the image, in Go's terms.

    Raises:
        ConfigError: it cannot be built, or is not compatible with the runtime.
        OSError: a file cannot be read or written.
    """
    wheel = _wheel(project, scratch)
    own = _held_by(wheel)
    wanted = [*needed(own, architecture)]
    if problems := [*_wrong_tags(wheel, architecture), *_clashes(own, wanted)]:
        raise ConfigError(problems)
    left_out = tuple(sorted({canonicalize_name(w.name) for w in wanted} & packages().keys()))
    is_whole = all(canonicalize_name(w.name) in packages() and not w.extras for w in wanted)
    target = scratch / "target"
    target.mkdir()
    if is_whole:
        _pip_install(wheel, target, ["--no-deps", "--no-index"], project, with_settings=False)
    else:
        _pip_install(wheel, target, _with_dependencies(scratch, architecture), project, with_settings=True)
        for stand_in in target.glob(f"*+{_STAND_IN}.dist-info"):
            shutil.rmtree(stand_in)
    held = {canonicalize_name(d.name): d for d in distributions([str(target)])}
    name = canonicalize_name(own.name)
    return Installed(target, wheel, held[name], {n: d for n, d in sorted(held.items()) if n != name}, left_out)


def needed(found: Distribution, architecture: str, extras: frozenset[str] = frozenset()) -> Iterator[Requirement]:
    """Yield the requirements of a distribution in the runtime's image, with these extras."""
    environments = [{**marker_environment(architecture), "extra": extra} for extra in ("", *extras)]
    for text in found.requires or ():
        with suppress(InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            wanted = Requirement(text)
            if wanted.marker is None or any(map(wanted.marker.evaluate, environments)):
                yield wanted


def _wheel(project: Path, scratch: Path) -> Path:
    if is_wheel(project):
        return project.resolve()
    described = read_project(project)
    sources = copied(project, scratch / "project")
    options = ["--no-deps", "--wheel-dir", str(scratch / "wheel")]
    here = described.can_be_built_here
    if here:
        options += ["--no-index", "--no-build-isolation", "--check-build-dependencies"]
    try:
        pip(["wheel", *options, str(sources)], scratch, shown={str(sources): str(project)}, with_settings=not here)
    except PipError as e:
        fetched = "" if here else f" with {', '.join(described.build_requires)}"
        raise ConfigError(f"cannot build {project}{fetched}; the output of pip:\n{e}") from e
    (wheel,) = (scratch / "wheel").glob("*.whl")
    return wheel


def _held_by(wheel: Path) -> Distribution:
    """Return the distribution in a wheel."""
    try:
        parse_wheel_filename(wheel.name)
        with zipfile.ZipFile(wheel):
            (own,) = distributions([str(wheel)])
    except (InvalidWheelFilename, zipfile.BadZipFile, ValueError) as e:
        raise ConfigError(f"cannot install {wheel.name}: it is not a valid wheel: {e}") from e
    return own


def _pip_install(wheel: Path, target: Path, options: list[str], project: Path, *, with_settings: bool) -> None:
    scratch = target.parent
    always = ["--no-compile", "--no-warn-script-location", "--no-user", "--target", str(target)]
    try:
        pip(
            ["install", *always, *options, str(wheel)],
            scratch,
            shown={str(wheel): wheel.name},
            with_settings=with_settings,
        )
    except PipError as e:
        raise ConfigError(
            f"cannot install the dependencies of {project} for the runtime, which is CPython "
            f"{'.'.join(map(str, PYTHON))} on Linux and imports its own copies of its packages; choose versions "
            f"that are compatible with those, and that have wheels for that Python. The output of pip:\n{e}"
        ) from e


def _with_dependencies(scratch: Path, architecture: str) -> list[str]:
    stand_ins, constraints = scratch / "runtime", scratch / "constraints.txt"
    stand_ins.mkdir()
    for name, version in packages().items():
        _write_stand_in(stand_ins, name, version)
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in packages().items()), encoding="utf-8")
    options = ["--find-links", str(stand_ins), "--constraint", str(constraints), "--only-binary", ":all:"]
    options += ["--implementation", "cp", "--python-version", ".".join(map(str, PYTHON))]
    options += [word for abi in _ABIS for word in ("--abi", abi)]
    return [*options, *(word for platform in platforms(architecture) for word in ("--platform", platform))]


def _write_stand_in(folder: Path, name: NormalizedName, version: str) -> None:
    """Write an empty wheel that represents a package of the runtime, with the requirements of its extras if known."""
    lines = [f"Name: {name}", f"Version: {version}+{_STAND_IN}"]
    with suppress(PackageNotFoundError):
        found = distribution(name)
        lines += (f"Provides-Extra: {e}" for e in found.metadata.get_all("Provides-Extra") or ())
        lines += (f"Requires-Dist: {r}" for r in found.requires or () if re.search(r"\bextra\s*==", r))
    escaped = name.replace("-", "_")
    info = f"{escaped}-{version}+{_STAND_IN}.dist-info"
    with zipfile.ZipFile(folder / f"{escaped}-{version}+{_STAND_IN}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "\n".join(["Metadata-Version: 2.1", *lines, ""]))
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "".join(f"{info}/{file},,\n" for file in ("METADATA", "WHEEL", "RECORD")))


def _wrong_tags(wheel: Path, architecture: str) -> Iterator[Problem]:
    if not parse_wheel_filename(wheel.name)[3] & tags(architecture):
        yield Problem(
            "",
            f"{wheel.name} is built for another Python or machine than the runtime's, which is CPython "
            f"{'.'.join(map(str, PYTHON))} on Linux {architecture}; build its native code there, and pass that wheel",
        )


def _clashes(own: Distribution, wanted: list[Requirement]) -> Iterator[Problem]:
    """Yield requirements that the runtime's packages do not meet: the runtime's copy is the one imported."""
    for requirement in wanted:
        has = packages().get(canonicalize_name(requirement.name))
        if has is not None and not requirement.specifier.contains(has, prereleases=True):
            yield Problem(
                "project.dependencies",
                f"{own.name} {own.version} needs {requirement.name}{requirement.specifier}, but the runtime has "
                f"{requirement.name} {has}, which is imported; allow that version",
            )
