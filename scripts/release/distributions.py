"""Wheels and source distributions."""

import sys
from pathlib import Path

from scripts.release.commands import run

__all__ = ["build_distribution", "build_distributions", "prepare"]

_COMMIT = Path("runtime", "penstock_model", "commit.txt")


def prepare(source: Path, commit: str) -> None:
    """Add further contents of the wheel to an exported commit: the compiled jar, and the id of the commit."""
    command = [sys.executable, "-m", "penstock_runtime.java_plugins.host_jar", str(source / "build" / "java-host")]
    run(*command, environment={"PYTHONPATH": str(source / "runtime")})  # which compiles the commit's own sources
    (source / _COMMIT).write_text(f"{commit}\n")


def build_distributions(source: Path, target: Path, time: int) -> None:
    """Build the wheel and the source distribution of each distribution in an exported and prepared commit."""
    for folder in (source, *sorted(file.parent for file in source.glob("connectors/*/pyproject.toml"))):
        build_distribution(folder, target, time)


def build_distribution(folder: Path, target: Path, time: int, *, kinds: tuple[str, ...] = ("sdist", "wheel")) -> None:
    """Run hatchling. It writes the same bytes for the same files and the same time."""
    options = [option for kind in kinds for option in ("--target", kind)]
    command = [sys.executable, "-m", "hatchling", "build", *options, "--directory", str(target)]
    run(*command, folder=folder, environment={"SOURCE_DATE_EPOCH": str(time)})
