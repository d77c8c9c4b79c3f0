"""Run Spark's Worker for the Master of one task, from the Master's first answer to the Worker's exit.

The Worker starts an executor for each session of the task. It registers again when the Master was restarted, and exits when
this has failed for some minutes; the operator then replaces the pod. The process also exits when the kernel has killed one
of its processes for lack of memory, so that the pod's status names the cause.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, ConnectError, Problem
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.contracts.executor_pod import ExecutorPod
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.pod_layout import EXECUTOR_VARIABLE, POD_IP_VARIABLE, SPARK_SECRET_FILE
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_runtime import logs
from penstock_runtime.executor.log_files import LogFiles
from penstock_runtime.executor.worker import environment, properties
from penstock_runtime.process import cgroup, start_tied, termination_message
from penstock_runtime.process.children import kill_children
from penstock_runtime.process.scratch import Scratch, sweep
from penstock_runtime.spark.cluster import SECRET_VARIABLE, bracketed, secret_of
from penstock_runtime.spark.session_conf import has_named_user

__all__ = ["run"]

log = logging.getLogger("penstock_runtime.executor")

_MASTER: Final = 600.0
"""Seconds within which the Master must answer. The task starts it with its Spark session, for a backlog."""
_CONNECTED: Final = 5.0
_LOOK: Final = 0.2
"""Seconds between two checks for the exit of the Worker, or SIGTERM."""
_ASK: Final = 1.0
"""Seconds between two attempts to connect to the Master."""
_END: Final = 5.0
"""Seconds that the Worker, its executor and their Python workers have to end after SIGTERM."""


class _OutOfMemory(ConnectError):
    """Raised when the kernel has killed a process of the executor for lack of memory."""


class _Stopping:
    """Handler of SIGTERM. It takes no lock, because it may interrupt the main thread anywhere."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, number: int, frame: object) -> None:
        self.asked = True

    def wait(self, seconds: float) -> bool:
        """Wait for at most `seconds`, and return whether SIGTERM has arrived."""
        deadline = time.monotonic() + seconds
        while not self.asked and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_LOOK, left))
        return self.asked


def run() -> int:
    """Run an executor, and return the exit code, which the termination message explains."""
    stopping = _Stopping()
    logs.configure(stream=sys.__stderr__)
    log_warnings_and_uncaught_errors()
    code, message, reason = ExitCode.OK, "stopped by SIGTERM", None
    try:
        with Scratch() as scratch:
            scratch.become_temporary()
            sweep()
            _work(_described(), scratch.path, stopping)
    except ConfigError as e:
        code, message = ExitCode.CONFIG_INVALID, str(e)
    except _OutOfMemory as e:
        code, message, reason = ExitCode.LOST, str(e), "OOMKilled"
    except ConnectError as e:
        code, message = ExitCode.UNAVAILABLE, str(e)
    if code is not ExitCode.OK:
        log.error("The executor has ended: %s", message)
    termination_message.write(TerminationMessage(exit_code=code, message=message, reason=reason))
    return code


def _described() -> ExecutorPod:
    text = os.environ.get(EXECUTOR_VARIABLE)
    if not text:
        raise ConfigError([Problem(EXECUTOR_VARIABLE, "is not set; the operator sets it on the pods that it creates")])
    if not has_named_user():
        raise ConfigError(
            f"cannot run an executor: the user {os.getuid()} has no name in this image, and Spark requires one; set "
            f"spec.template.spec.securityContext.runAsUser to 65532"
        )
    return ExecutorPod.from_json(text)


def _work(pod: ExecutorPod, folder: Path, stopping: _Stopping) -> None:
    """Run the Worker until SIGTERM.

    Raises:
        ConfigError: the secret cannot be read.
        ConnectError: the Master does not answer, the Worker has exited, or the memory was not sufficient.
    """
    secret = secret_of(os.environ.get(SECRET_VARIABLE) or SPARK_SECRET_FILE, "Spark's secret")
    own = _own_address(pod.master, stopping)
    if own is None:
        return
    host = bracketed(os.environ.get(POD_IP_VARIABLE) or own)
    work = folder / "work"
    file = folder / "spark.conf"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.writelines(f"{name} {text}\n" for name, text in properties(secret, folder).items())
    memory = cgroup.memory_limit() or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    env = environment(os.environ, folder)
    command = [
        str(Path(env["SPARK_HOME"]) / "bin" / "spark-class"), "org.apache.spark.deploy.worker.Worker",
        "--host", host, "--port", "0", "--webui-port", "0", "--cores", str(pod.cores), "--memory", f"{memory >> 20}m",
        "--work-dir", str(work), "--properties-file", str(file), pod.master,
    ]  # fmt: skip
    tied = [sys.executable, "-I", start_tied.__file__, str(os.getpid()), str(int(signal.SIGKILL))]
    log.info("Starting Spark's Worker at %s for %s, with %d cores", host, pod.master, pod.cores)
    worker = subprocess.Popen([*tied, *command], env=env, stdin=subprocess.DEVNULL)
    killed = cgroup.oom_kills()
    with LogFiles(work, sys.__stderr__ or sys.stderr):
        while worker.poll() is None and not stopping.wait(_LOOK) and cgroup.oom_kills() == killed:
            pass
        _end(worker)
    if stopping.asked:
        return
    if cgroup.oom_kills() != killed:
        raise _OutOfMemory(
            f"the kernel killed a process of the executor, which used more memory than its limit of {memory >> 20}Mi; "
            f"raise spec.spark.executors.resources.limits.memory, or lower batch.max.bytes"
        )
    raise ConnectError(
        f"Spark's Worker has exited with code {worker.returncode}; its log above has the reason. Often, the Master "
        f"{pod.master} no longer accepts it, because the task has ended or uses another secret"
    )


def _own_address(master: str, stopping: _Stopping) -> str | None:
    """Wait until the Master answers, and return the address from which this process reaches it; None after SIGTERM.

    Raises:
        ConnectError: it has not answered for ten minutes.
    """
    host, _, port = master.removeprefix("spark://").rpartition(":")
    deadline, is_logged = time.monotonic() + _MASTER, False
    while True:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _CONNECTED) as connected:
                return str(connected.getsockname()[0])
        except OSError as e:
            if time.monotonic() >= deadline:
                raise ConnectError(
                    f"cannot connect to the task's Spark Master {master} within {_MASTER:.0f} s: {e.strerror or e}; check "
                    f"whether the task has ended, or a network policy blocks the connection"
                ) from e
            if not is_logged:
                log.info("Waiting for the task's Spark Master %s: %s", master, e.strerror or e)
                is_logged = True
        if stopping.wait(_ASK):
            return None


def _end(worker: "subprocess.Popen[bytes]") -> None:
    """Stop the Worker, which stops its executor, and kill their remaining processes."""
    if worker.poll() is None:
        worker.terminate()
        try:
            worker.wait(_END)
        except subprocess.TimeoutExpired:
            log.debug("Killing Spark's Worker")
    kill_children()
    worker.wait()
