"""`penstock run` as a child process of a demo."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["penstock_run", "print_lines", "sentence"]

_PROGRAM = (
    "import sys; from penstock_cli.__main__ import main; from penstock_runtime.process import children;"
    "children.die_with_parent(); sys.exit(main())"
)
_STOP = 30  # seconds
_IMPORTANT = ("warning", "error", "critical")


@contextmanager
def penstock_run(
    *words: str | Path,
    servers: str,
    folder: Path,
    env: Mapping[str, str] | None = None,
    log: IO[bytes] | int | None = None,
    cwd: Path | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `penstock run` until the end of the context. It also ends with this process, even if this process is killed.

    Args:
        words: the manifests to run, and further options.
        servers: the Kafka brokers.
        folder: the folder for data.
        env: variables added to the environment of this process.
        log: file for the output, as `subprocess` takes it; None for standard error.
        cwd: the folder to run in; None: the current one.
    """
    options: list[str | Path] = ["--bootstrap-servers", servers, "--data-dir", folder, "--log-level", "WARNING"]
    # In a separate process group, so that Ctrl-C reaches only us, and the connectors stop after the last record.
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "run", *words, *options],
        start_new_session=True,
        env={**os.environ, **(env or {})},
        stdout=log,
        stderr=subprocess.STDOUT if log == subprocess.PIPE else log,
        cwd=cwd,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def print_lines(output: IO[bytes], log: IO[bytes], note: Callable[[str], None]) -> threading.Thread:
    """Write the output of `penstock run` to a log, and note what its JSON lines say about tasks and problems.

    Returns:
        A thread that ends with the output.
    """

    def read() -> None:
        for line in output:
            log.write(line)
            if text := sentence(line):
                note(text)

    thread = threading.Thread(target=read, name="output-of-penstock-run", daemon=True)
    thread.start()
    return thread


def sentence(line: bytes) -> str:
    """Return the message of a log line if it is for the user of a demo; otherwise an empty string."""
    try:
        entry = json.loads(line)
        is_shown = entry.get("event") == "task" or entry.get("logger") == "penstock" or entry.get("level") in _IMPORTANT
        return str(entry["message"]) if is_shown else ""
    except (ValueError, KeyError, AttributeError):
        return ""
