"""Process of a JVM: its command, its output, and how it ended.

A dedicated thread starts the process and reads its output until it ends. Linux sends the parent-death signal when the thread
that started a process ends, so it must not be a short-lived thread of the caller.
"""

import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Final

from penstock.errors import ConnectError
from penstock_model.resources.task_settings import Java
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins import class_archive
from penstock_runtime.java_plugins.host_jar import archive, class_path
from penstock_runtime.java_plugins.java_error import JvmEnded
from penstock_runtime.java_plugins.jvm.ends import cause_of_end
from penstock_runtime.java_plugins.jvm.heap import Heap
from penstock_runtime.java_plugins.jvm.options import environment, jvm_options
from penstock_runtime.java_plugins.jvm_redaction import hidden
from penstock_runtime.logs import say
from penstock_runtime.process import cgroup, start_tied

__all__ = ["Jvm"]

_LONGEST_LINE: Final = 1 << 16
_LAST_LINES: Final = 20
_LOOK: Final = 1.0  # seconds between two checks whether a silent JVM has ended
_LEVELS: Final[Mapping[str, int]] = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}


class Jvm:
    """JVM that runs the plugin host.

    Args:
        java_spec: the connector's settings for the JVM.
        is_long: whether the JVM runs for a long time, as in a task.

    Attributes:
        requests: write end of the pipe to its standard input.
        messages: read end of the pipe with its messages.

    Raises:
        ConnectError: Java is missing, or its jars cannot be fetched.
    """

    def __init__(self, java_spec: Java, *, is_long: bool) -> None:
        java = find_java()
        jars = class_path(java, say)
        self._heap = Heap.of_this_process(java_spec.heap_percent, is_long=is_long)
        self._oom_kills = cgroup.oom_kills()
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._started = threading.Event()
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._process: subprocess.Popen[bytes] | None = None
        reading, writing = os.pipe()
        command = [
            *(sys.executable, "-I", "-S", start_tied.__file__, str(os.getpid()), str(int(signal.SIGKILL))),
            *(str(java.executable), *jvm_options(java_spec, self._heap, is_long=is_long)),
            *class_archive.options(archive(java, jars)),
            f"-Djava.io.tmpdir={tempfile.gettempdir()}",
            f"-Dpenstock.log.level={_java_level()}",
            *("-cp", ":".join(map(str, jars)), class_archive.MAIN, str(writing)),
        ]
        threading.Thread(target=self._run, args=(command, writing), name="java-plugins", daemon=True).start()
        self._started.wait()
        if self._failure is not None:
            os.close(reading)
            raise ConnectError(f"cannot start the JVM of Java plugins: {self._failure}") from self._failure
        assert self._process is not None
        assert self._process.stdin is not None
        self.requests: IO[bytes] = self._process.stdin
        self.messages: IO[bytes] = os.fdopen(reading, "rb", buffering=1 << 20)

    def close(self, seconds: float) -> None:
        """Close the JVM's input, which makes it halt, and kill it if it has not ended after `seconds`."""
        with suppress(OSError):
            self.requests.close()
        if not self._ended.wait(seconds):
            self.kill()

    def kill(self) -> None:
        """Kill the JVM, and wait until it has exited."""
        if not self._ended.is_set():
            self._child.kill()
        self._ended.wait()

    def cause_of_end(self) -> JvmEnded:
        """Wait until the JVM has ended, and return an error that says how it ended and what to do."""
        self._ended.wait()
        before, now = self._oom_kills, cgroup.oom_kills()
        kills = None if before is None or now is None else now - before
        return cause_of_end(self._child.returncode, self._lines, self._heap, kills)

    @property
    def _child(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    def _run(self, command: list[str], writing: int) -> None:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(writing,),
                env=environment(),
                bufsize=0,
            )
        except Exception as error:  # noqa: BLE001 (raised by `__init__`, which must not wait forever)
            self._failure = error
            self._started.set()
            return
        finally:
            os.close(writing)
        self._process = process
        self._started.set()
        try:
            self._read_lines(process)
        finally:
            process.wait()
            self._ended.set()

    def _read_lines(self, process: "subprocess.Popen[bytes]") -> None:
        """Log the output of the JVM, line by line, until both streams end."""
        assert process.stdout is not None
        assert process.stderr is not None
        partial = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
        names = {process.stdout.fileno(): "stdout", process.stderr.fileno(): "stderr"}
        with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
            for descriptor in partial:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(_LOOK)
                if not ready and process.poll() is not None:
                    return  # a process that the plugin started outlives the JVM and keeps the streams open
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    *lines, rest = (partial[key.fd] + data).split(b"\n")
                    if not data or len(rest) > _LONGEST_LINE:
                        lines, rest = [*lines, rest], b""
                    partial[key.fd] = rest
                    for line in lines:
                        self._log(line[:_LONGEST_LINE].decode("utf-8", "replace"), names[key.fd])
                    if not data:
                        selector.unregister(key.fd)

    def _log(self, line: str, stream: str) -> None:
        if not line.strip():
            return
        record = _log_line(line) if stream == "stderr" else None
        if record is None:
            line = hidden(line)
            self._lines.append(line)
            logging.getLogger(f"output.{stream}").info("%s", line)
            return
        level = _LEVELS.get(record["level"], logging.INFO)
        text = "\n".join(filter(None, (record["message"], record["error"].rstrip())))
        logging.getLogger(f"java.{record['logger']}").log(level, "%s", hidden(text))


def _java_level() -> str:
    level = logging.getLogger().getEffectiveLevel()
    return next(
        name for name in ("DEBUG", "INFO", "WARN", "ERROR", "FATAL") if _LEVELS[name] >= min(level, logging.CRITICAL)
    )


def _log_line(line: str) -> dict[str, Any] | None:
    """Return the fields of a line in the format of the host's log4j2.xml; None for any other line."""
    if not line.startswith('{"level":"'):
        return None
    with suppress(ValueError):
        record = json.loads(line, strict=False)
        if isinstance(record, dict) and record.keys() >= {"level", "logger", "message", "error"}:
            return record
    return None
