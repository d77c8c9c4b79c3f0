"""A project of plugins as an image: built and installed by pip, then freed of what tells one build from the next."""

import base64
import csv
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError
from penstock_runtime.local.plugin.archive import check_repository, write_image
from penstock_runtime.local.plugin.layer import is_bytecode

__all__ = ["build_image"]

_LAST_LINES: Final = 12
"""So much of what pip prints goes into a message: its errors stand at the end."""
_TRACES: Final = ("direct_url.json", "REQUESTED")
"""Files in which pip notes how a distribution was asked for: a path of this machine."""


def build_image(project: Path, repository: str, to: Path, *, architecture: str | None = None) -> str:
    """Build a project, and write it as an image, as `pip install --target /plugin` would install it.

    The image holds this one distribution and none that it depends on: what a plugin imports beside `penstock` must be in
    Penstock's own image. The project folder is left as it is. Nothing is fetched: what the project's
    `[build-system] requires` names must be installed beside Penstock. A project that must be built in another way is built
    elsewhere, and its wheel is given.

    The same sources give the same image, wherever they lie and whenever they are built, as long as the build backend writes
    the same metadata: a project that pins it (`requires = ["hatchling==1.29.0"]`) has the same digest on every machine of an
    architecture. What a backend compiles is outside that promise, and so are the scripts that pip makes of
    `[project.scripts]`: their text differs between its versions.

    Args:
        project: a folder with a `pyproject.toml`, or a wheel.
        repository: as for `write_image`.
        to: as for `write_image`.
        architecture: as for `write_image`.

    Returns:
        The image's name by digest.

    Raises:
        ConfigError: the project cannot be built, with the last lines that pip printed; or as `write_image`.
        OSError: something cannot be read or written.
    """
    check_repository(repository)
    with tempfile.TemporaryDirectory(prefix="penstock-plugin-") as scratch:
        target = Path(scratch) / "target"
        target.mkdir()
        _install(project, _sources(project, Path(scratch) / "project"), target)
        (info,) = target.glob("*.dist-info")
        _remove_traces(target, info)
        _write_record(target, info / "RECORD")
        return write_image(target, repository, to, architecture=architecture)


def _sources(project: Path, copy: Path) -> Path:
    """What pip is given: a wheel, or a copy of a project, because some backends leave files where they build."""
    if project.is_file() and project.suffix == ".whl":
        return project.resolve()
    if not (project / "pyproject.toml").is_file():
        raise ConfigError(f"{project} is no project of plugins: neither a wheel nor a folder with a pyproject.toml.")
    try:
        shutil.copytree(project, copy, symlinks=True, ignore=_not_sources)
    except shutil.Error as e:  # holds (from, to, reason) for each file
        raise ConfigError(f"The project {project} cannot be read: " + "; ".join(r for _, _, r in e.args[0])) from e
    return copy


def _not_sources(folder: str, names: list[str]) -> set[str]:
    """What other builds and tools left in a folder of the project. A backend would take some of it for sources."""
    return {name for name in names if is_bytecode(name) or _is_left_over(Path(folder) / name)}


def _is_left_over(path: Path) -> bool:
    if path.is_dir():
        is_environment = (path / "pyvenv.cfg").exists()
        is_build = path.parent.name == "build" and path.name.startswith(("lib", "bdist."))  # setuptools
        return is_environment or is_build or path.name.endswith(".egg-info")
    return not path.is_file() and not path.is_symlink()


def _install(project: Path, sources: Path, target: Path) -> None:
    scratch = target.parent
    command = [
        sys.executable,
        "-m",
        "pip",
        "--isolated",
        "--no-input",
        "--disable-pip-version-check",
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--no-build-isolation",
        "--check-build-dependencies",
        "--no-warn-script-location",
        "--target",
        str(target),
        str(sources),
    ]
    environment = {
        "SOURCE_DATE_EPOCH": "315532800",  # 1980, where the times of a wheel begin; some backends write it into files
        **os.environ,
        "PIP_CONFIG_FILE": os.devnull,  # with --isolated: nobody's settings of pip count
        "PYTHONHASHSEED": "0",  # some write sets in the order that they come in
        "TMPDIR": str(scratch),  # which is removed, even if pip is killed
    }
    succeeded, printed = _run(command, scratch, environment)
    if not succeeded:
        lines = printed.replace(str(sources), str(project)).rstrip().splitlines()[-_LAST_LINES:]
        raise ConfigError(
            f"pip cannot build {project}. A build fetches nothing: what it needs must be installed beside Penstock; or "
            "build a wheel elsewhere, and give that. pip says:\n" + "\n".join(f"  {line}" for line in lines)
        )


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[bool, str]:
    """Whether a command succeeds, and what it prints. If this process is to end meanwhile, so do all that were started."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode == 0, printed


def _remove_traces(target: Path, info: Path) -> None:
    """Remove what depends on the machine and on the versions of the tools, and says nothing about the plugins."""
    for name in _TRACES:
        (info / name).unlink(missing_ok=True)
    wheel = info / "WHEEL"
    lines = wheel.read_bytes().splitlines(keepends=True)
    wheel.write_bytes(b"".join(line for line in lines if not line.startswith(b"Generator:")))
    scripts = target / "bin"
    for script in sorted(scripts.iterdir()) if scripts.is_dir() else ():
        script.write_bytes(_portable(script.read_bytes()))


def _portable(script: bytes) -> bytes:
    """A script that names no interpreter of this machine. pip begins it in one of two ways: the second has long paths."""
    interpreter = os.fsencode(sys.executable)
    head, newline, rest = script.partition(b"\n")
    if head == b"#!/bin/sh" and rest.startswith(b"'''exec' ") and interpreter in rest.partition(b"\n")[0]:
        rest = rest.partition(b"\n")[2].partition(b"\n")[2]
    elif head != b"#!" + interpreter:
        return script
    return b"#!/usr/bin/env python3" + newline + rest


def _write_record(target: Path, record: Path) -> None:
    """List the files as they are now. pip lists scripts where they are not, and what was removed."""
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(_rows(target, record))


def _rows(target: Path, record: Path) -> Iterator[tuple[str, str, str]]:
    for path in _files(target):
        name = path.relative_to(target).as_posix()
        if path == record:
            yield name, "", ""
        else:
            with path.open("rb") as file:
                digest = base64.urlsafe_b64encode(hashlib.file_digest(file, "sha256").digest()).rstrip(b"=").decode()
            yield name, f"sha256={digest}", str(path.stat().st_size)


def _files(target: Path) -> Iterable[Path]:
    """The files that the image will hold."""
    paths = (p for p in target.rglob("*") if p.is_file())
    return sorted(p for p in paths if not any(is_bytecode(part) for part in p.relative_to(target).parts))
