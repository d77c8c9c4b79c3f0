"""Broker process. Each change of its state (started, ready, exited) is an event; nothing is polled.

A dedicated thread starts the process and waits for its end, for two reasons: Linux sends the signal "your parent
died" when the *thread* that started a process ends, so a short-lived thread of the caller must not start it; and the
thread's blocking reads are the events that the rest of the runtime waits for.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from penstock_runtime.process import start_tied

__all__ = ["BrokerProcess"]

_READY = "Kafka Server started"


class BrokerProcess:
    """Process of a broker, from its start to its exit."""

    def __init__(self, command: list[str], folder: Path, stderr: Path, inherited: int) -> None:
        """Start the command.

        Args:
            command: the command.
            folder: its working directory.
            stderr: file for its standard error; overwritten.
            inherited: descriptor that it keeps open.
        """
        self._settled = threading.Event()  # it is up, or it is gone
        self._ended = threading.Event()
        self._started = threading.Event()
        self._ready = False
        self._failure: Exception | None = None
        self._process: subprocess.Popen[str] | None = None
        launcher = [sys.executable, "-I", "-S", start_tied.__file__, str(os.getpid()), str(int(signal.SIGTERM))]
        threading.Thread(
            target=self._accompany,
            args=([*launcher, *command], folder, stderr, inherited),
            name="embedded-kafka",
            daemon=True,
        ).start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    @property
    def pid(self) -> int:
        """Return the broker's process id."""
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of the broker, as in `subprocess`, or None while it runs."""
        return self._child.returncode if self._ended.is_set() else None

    def await_ready(self, seconds: float) -> bool:
        """Wait until clients can produce. Return False if the broker died or took too long."""
        return self._settled.wait(seconds) and self._ready

    def await_end(self, seconds: float | None = None) -> bool:
        """Wait for the end of the process. Return False if it is still alive."""
        return self._ended.wait(seconds)

    def stop(self, patience: float) -> None:
        """Request a graceful shutdown, and kill the broker after `patience` seconds."""
        self._send(signal.SIGTERM)
        if not self._ended.wait(patience):
            self.kill()

    def kill(self) -> None:
        """Kill the broker, and wait until its process has ended."""
        self._send(signal.SIGKILL)
        self._ended.wait()

    @property
    def _child(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def _send(self, number: signal.Signals) -> None:
        if not self._ended.is_set():
            self._child.send_signal(number)

    def _accompany(self, command: list[str], folder: Path, stderr: Path, inherited: int) -> None:
        try:
            with stderr.open("wb") as errors:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    pass_fds=(inherited,),
                    start_new_session=True,  # only the parent handles Ctrl-C in the terminal
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                )
        except Exception as error:  # noqa: BLE001 (__init__ raises it, and must not wait forever)
            self._failure = error
            self._started.set()
            return
        with process:
            self._process = process
            self._started.set()
            assert process.stdout is not None
            for line in process.stdout:
                if _READY in line:
                    self._ready = True
                    self._settled.set()
        self._ended.set()
        self._settled.set()
