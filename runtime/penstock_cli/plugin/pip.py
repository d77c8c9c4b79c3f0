"""pip as a process: it ends with this one, its settings are its user's or nobody's, and its errors become messages."""

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
"""So much of what pip prints goes into a message: its errors stand at the end."""


class PipError(Exception):
    """pip has failed; the text is the last lines of what it printed, indented."""


def pip(arguments: Sequence[str], scratch: Path, *, shown: Mapping[str, str], with_settings: bool = False) -> None:
    """Run a command of pip.

    Args:
        arguments: of the command.
        scratch: the folder to work in, with what is left over in the end.
        shown: paths that pip prints, and what a message has in place of them.
        with_settings: whether pip reads its user's settings: index, proxy, certificate. Without them nothing is fetched.

    Raises:
        PipError: it has failed.
    """
    settings = [] if with_settings else ["--isolated"]
    command = [sys.executable, "-m", "pip", *settings, "--no-input", "--disable-pip-version-check", *arguments]
    environment = {
        "SOURCE_DATE_EPOCH": "315532800",  # 1980, where the times of a wheel begin; some backends write it into files
        **os.environ,
        "PYTHONHASHSEED": "0",  # some write sets in the order that they come in
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
