"""Version of this installation, with the commit that it was built from."""

import argparse
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

__all__ = ["VersionAction", "version_text"]

_RECORDED: Final = Path(__file__).with_name("commit.txt")
"""File with the full commit, in wheels and images of a release, but not in a checkout."""
_PROJECT: Final = Path(__file__).parents[2]
_LENGTH: Final = 12
_GIT_SECONDS: Final = 5.0


def version_text(recorded: Path = _RECORDED, project: Path = _PROJECT) -> str:
    """Return `penstock 0.1.0 (commit abcdef123456)`, or only the version if the commit is unknown.

    Args:
        recorded: file with the commit.
        project: folder that may be a checkout. Its commit is used if no commit is recorded.
    """
    commit = _recorded(recorded) or _checked_out(project)
    return f"penstock {version('penstock')}" + (f" (commit {commit})" if commit else "")


class VersionAction(argparse.Action):
    """Option that prints the version. Unlike argparse's action, it determines the commit only when used."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print the version, and exit."""
        print(version_text())  # noqa: T201 (the option's purpose)
        parser.exit()


def _recorded(file: Path) -> str:
    try:
        return file.read_text().strip()[:_LENGTH]
    except OSError:
        return ""


def _checked_out(project: Path) -> str:
    if not (project / ".git").exists():
        return ""
    command = ["git", "-C", str(project), "describe", "--always", "--dirty", "--exclude=*", f"--abbrev={_LENGTH}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_GIT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""  # there is no git
    return done.stdout.strip() if done.returncode == 0 else ""
