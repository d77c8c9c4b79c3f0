"""pip as a child process that ends with this one, with or without the user's settings. Its errors become messages."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["PipError", "pip"]

_LAST_LINES: Final = 25
"""Number of lines of pip's output in a message: its errors are at the end."""


class PipError(Exception):
    """Raised when pip fails; the text is the last lines of its output, indented."""


def pip(arguments: Sequence[str], scratch: Path, *, shown: Mapping[str, str], with_settings: bool = False) -> None:
    """Run a command of pip.

    Args:
        arguments: arguments of the command.
        scratch: working directory, in which files may remain.
        shown: paths in pip's output, with their replacements in messages.
        with_settings: whether pip reads the user's settings: index, proxy, certificate. Without them, nothing is fetched.

    Raises:
        PipError: pip failed.
    """
    settings = [] if with_settings else ["--isolated"]
    command = [sys.executable, "-m", "pip", *settings, "--no-input", "--disable-pip-version-check", *arguments]
    environment = {
        "SOURCE_DATE_EPOCH": "315532800",  # 1980, the earliest time in a wheel; some backends write it into files
        **os.environ,
        "PYTHONHASHSEED": "0",  # some backends write sets in iteration order
        "TMPDIR": str(scratch),  # which is removed, even if pip is killed
    }
    if not with_settings:
        environment["PIP_CONFIG_FILE"] = os.devnull
    succeeded, printed = _run(command, scratch, environment)
    if not succeeded:
        for path, word in shown.items():
            printed = printed.replace(path, word)
        raise PipError("\n".join(f"  {line}" for line in printed.rstrip().splitlines()[-_LAST_LINES:]))


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[bool, str]:
    """Return whether a command succeeds, and its output. If this process is interrupted, kill all its processes."""
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
