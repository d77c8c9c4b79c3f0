"""Child process of one incarnation of a task, and the events that it sends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock_cli.child_output import ChildOutput
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.process import scratch
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

__all__ = ["Child"]


class Child:
    """Running task process. Created in the main thread; it ends when that thread ends.

    Args:
        spec: spec of the task.
        folder: private folder for the spec.
        log_level: lowest level that it logs.
        metrics_port: port of its metrics; 0: any free port.
        log: descriptor to which it writes log lines. Other output of its processes is logged by `events`.
        reads_input: the task gets this process's standard input, if there is one.
    """

    def __init__(
        self, spec: TaskSpec, *, folder: Path, log_level: str, metrics_port: int, log: int, reads_input: bool
    ) -> None:
        self.spec = spec
        self.started = time.monotonic()
        path = folder / f"{spec.id.replace('/', '_')}.json"
        path.write_text(spec.to_json())
        self._last_word = path.with_suffix(".end")
        self._last_word.write_bytes(b"")
        reading, writing = os.pipe()
        self.events_fd = reading
        os.set_blocking(reading, False)
        self._output = ChildOutput(log, {"connector": spec.connector, "task": spec.task})
        try:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "penstock_runtime.task",
                    str(path),
                    "--parent",
                    str(os.getpid()),
                    "--report-fd",
                    str(writing),
                    "--log-level",
                    log_level,
                    "--metrics-port",
                    str(metrics_port),
                    "--log-fd",
                    str(log),
                ],
                pass_fds=(writing, log),
                stdin=None if reads_input and sys.stdin is not None else subprocess.DEVNULL,
                stdout=self._output.writing,
                stderr=self._output.writing,
                start_new_session=True,
                env={**os.environ, TERMINATION_LOG_VARIABLE: str(self._last_word)},
            )
        finally:
            os.close(writing)
            os.close(self._output.writing)
        self._partial = b""

    @property
    def descriptors(self) -> tuple[int, int]:
        """Return the descriptors that are readable when `events` has work."""
        return self.events_fd, self._output.descriptor

    def events(self) -> Iterator[dict[str, Any]]:
        """Return the child's events since the last call, and write its output to the log."""
        self._output.pass_on()
        while True:
            try:
                data = os.read(self.events_fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self._partial = (self._partial + data).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    @property
    def explained(self) -> bool:
        """Return whether the task has written its final report. It has not if it was killed, or called `os._exit`."""
        try:
            return self._last_word.stat().st_size > 0
        except OSError:  # the temporary folder was deleted: only the exit code is left
            return True

    def stop(self) -> None:
        """Ask the task to finish its batch and exit."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the task with all processes that it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Clean up after the exit: kill remaining processes (Spark's JVM), close pipes, remove temporary folders."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        os.close(self.events_fd)
        self._output.close()
        scratch.sweep()
