"""Commands that a release runs, and the error that stops it."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ReleaseError", "run"]


class ReleaseError(Exception):
    """Raised when a release cannot be made. The message has the cause and the remedy."""


def run(*command: str | Path, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Run a command to its end, with its standard error on ours, and return its standard output.

    Raises:
        ReleaseError: the command is missing, or fails.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=folder, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, text=True, check=False
        )
    except FileNotFoundError:
        raise ReleaseError(f"cannot run {words[0]}: it is not installed; install it") from None
    if done.returncode:
        raise ReleaseError(f"cannot release: {' '.join(words)} exited with code {done.returncode}; see its output")
    return done.stdout
