"""Pods of executors on this machine: `python -m penstock_runtime.executor`, each with its own user, /tmp and address.

A task's pod has the address `pods.host`, so that the fixed ports of its Master and driver are free on any machine.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil

from penstock_model.contracts.executor_pod import ExecutorPod
from penstock_model.contracts.pod_layout import EXECUTOR_MODULE, EXECUTOR_VARIABLE, POD_IP_VARIABLE, SPARK_MASTER_PORT
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE
from penstock_runtime.spark.cluster import SECRET_VARIABLE

from .running import PLUGINS, until
from .spark_cluster import OWN_FILE, elsewhere

SECRET: Final = "a-secret-of-one-task"


class ExecutorPods:
    """Starts executors; `end` kills them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._net = f"127.{random.randint(1, 254)}.{random.randint(0, 254)}"
        self.host = f"{self._net}.1"
        self.secret_file = folder / "secret"
        self.secret_file.write_text(SECRET)
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def env(self) -> Mapping[str, str]:
        """Of the task's pod."""
        return {POD_IP_VARIABLE: self.host, SECRET_VARIABLE: str(self.secret_file)}

    @property
    def master(self) -> str:
        return f"spark://{self.host}:{SPARK_MASTER_PORT}"

    def start(self, *, cores: int = 1, secret: str = SECRET) -> int:
        """Start one more; its number."""
        number = len(self.started)
        file = self._folder / f"secret-{number}"
        file.write_text(secret)
        env = {
            **os.environ,
            EXECUTOR_VARIABLE: ExecutorPod(master=self.master, cores=cores).to_json(),
            POD_IP_VARIABLE: f"{self._net}.{number + 2}",
            SECRET_VARIABLE: OWN_FILE,
            TERMINATION_LOG_VARIABLE: "/tmp/termination-log",
            "HOME": "/tmp",
            "PYTHONPATH": os.pathsep.join(p for p in (os.environ.get("PYTHONPATH", ""), str(PLUGINS)) if p),
        }
        command = elsewhere(number, [sys.executable, "-m", EXECUTOR_MODULE], file=file)
        with self._log(number).open("wb") as log:
            self.started.append(
                subprocess.Popen(
                    command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            )
        return number

    def java(self, number: int) -> psutil.Process:
        """Wait for the JVM of an executor, and return it."""
        return until(lambda: next(self._javas(number), None), what=lambda: f"a JVM\n{self.log_text(number)[-3000:]}")

    def workers(self, number: int) -> list[psutil.Process]:
        """The Python workers of an executor that live now."""
        below = psutil.Process(self.started[number].pid).children(recursive=True)
        return [p for p in below if "penstock_runtime.spark_daemon" in _command(p)]

    def log_text(self, number: int) -> str:
        """What it has written."""
        return self._log(number).read_text(errors="replace")

    def kill(self, number: int) -> None:
        """`kill -9` of all its processes, as the end of a pod."""
        process = self.started[number]
        below: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            below = psutil.Process(process.pid).children(recursive=True)
        for each in below:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.kill()
        process.wait()

    def terminate(self, number: int) -> int:
        """SIGTERM; its exit code."""
        self.started[number].send_signal(signal.SIGTERM)
        return self.started[number].wait(30)

    def end(self) -> None:
        """Kill all, and print what they have written."""
        for number in range(len(self.started)):
            print(f"executor {number}:\n{self.log_text(number)[-3000:]}")
            self.kill(number)

    def _log(self, number: int) -> Path:
        return self._folder / f"executor-{number}.log"

    def _javas(self, number: int) -> Iterator[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            for each in psutil.Process(self.started[number].pid).children(recursive=True):
                if "CoarseGrainedExecutorBackend" in _command(each):
                    yield each


def with_executors(resource: dict[str, Any], **executors: Any) -> dict[str, Any]:
    """The manifest with `spec.spark.executors`."""
    spec = resource["spec"]
    return {**resource, "spec": {**spec, "spark": {**spec.get("spark", {}), "executors": executors}}}


@contextmanager
def executor_pods(folder: Path) -> Iterator[ExecutorPods]:
    """Pods for one task, for a while."""
    folder.mkdir()
    made = ExecutorPods(folder)
    try:
        yield made
    finally:
        made.end()


def _command(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""
