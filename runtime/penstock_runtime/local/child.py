"""One child process for one life of a task, and the events that come from it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.taskspec import TaskSpec

__all__ = ["Child"]


class Child:
    """A running task process. Made in the main thread, whose end it does not outlive."""

    def __init__(self, spec: TaskSpec, *, folder: Path, log_level: str, metrics_port: int, log: Any) -> None:
        self.spec = spec
        self.started = time.monotonic()
        path = folder / f"{spec.id.replace('/', '_')}.json"
        path.write_text(spec.to_json())
        reading, writing = os.pipe()
        self.events_fd = reading
        os.set_blocking(reading, False)
        try:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "penstock_runtime.task", str(path), "--report-fd", str(writing),
                    "--log-level", log_level, "--metrics-port", str(metrics_port),
                ],
                pass_fds=(writing,),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(writing)
        self._partial = b""

    def events(self) -> Iterator[dict[str, Any]]:
        """What has come from the child since the last call."""
        while True:
            try:
                data = os.read(self.events_fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self._partial = (self._partial + data).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    def stop(self) -> None:
        """Ask it to finish its batch and leave."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and what it started, at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of its pipe, once it has ended; its helpers (Spark's JVM) go with it."""
        os.close(self.events_fd)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
