"""The oracle's process: cases in, what Kafka Connect makes of them out."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

from tests.bench.peer import connect_jars

from penstock_runtime.java_home import find_java

from .building import compiled

__all__ = ["Oracle", "OracleError"]

_PATIENCE: Final = 120.0  # seconds without an answer; a start takes two and an answer none, but for a full machine
_PLATFORM: Final = ("-Duser.language=en", "-Duser.country=US", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8")
_SMALL: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_QUIET: Final = ("-Dorg.apache.logging.log4j.level=OFF",)


class OracleError(Exception):
    """The oracle ended or hung too often, or cannot read a case."""


class Oracle:
    """Kafka Connect's classes in one long-running Java process, started when it is first asked. A context manager.

    Args:
        restarts: how often it may be started again, after a case that ended or hung it, before that is an error.
        patience: how long one answer may take, in seconds.
        plugins: folder with the jars of further plugins.
    """

    def __init__(self, *, restarts: int = 3, patience: float = _PATIENCE, plugins: Path | None = None) -> None:
        self._restarts = restarts
        self._patience = patience
        self._plugins = "" if plugins is None else f":{plugins}/*"
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None

    def answers(self, cases: Sequence[Any]) -> list[Any]:
        """What Kafka Connect makes of each case: its `expected`. The cases are sent ahead of the answers.

        Raises:
            OracleError: a case that the oracle cannot read (the case is wrong), or one that ended it time and again.
            ConnectError: Java, its compiler or Kafka Connect's jars are missing; the message says what to do.
        """
        found: list[Any] = []
        while len(found) < len(cases):
            found += self._asked(cases[len(found) :])
            if len(found) < len(cases):
                self._start_again(cases[len(found)])
        for case, answer in zip(cases, found, strict=True):
            if "bad" in answer:
                raise OracleError(f"The oracle cannot read a case: {answer['bad']}\n{json.dumps(case)}")
        return found

    def answer(self, case: Any) -> Any:
        """The same for one case."""
        return self.answers([case])[0]

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asked(self, cases: Sequence[Any]) -> list[Any]:
        """The answers that came before the process ended."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        # The process writes while it reads: one thread for both would wait for itself once the pipes are full.
        sender = threading.Thread(target=_send, args=(process.stdin, lines), daemon=True)
        sender.start()
        found = []
        for _ in cases:
            watch = threading.Timer(self._patience, process.kill)
            watch.start()
            line = process.stdout.readline()
            watch.cancel()
            if not line.endswith("\n"):
                break
            found.append(json.loads(line))
        sender.join()
        return found

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            java = find_java()
            jars = connect_jars(java)
            classes = compiled(java, jars)
            path = f"{classes}:{jars}/*{self._plugins}"  # Kafka Connect's first: archives bring its API, too
            self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
            self._process = subprocess.Popen(
                [str(java.executable), *_SMALL, *_PLATFORM, *_QUIET, "-cp", path, "Oracle"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
            )
        return self._process

    def _start_again(self, case: Any) -> None:
        assert self._process is not None
        code = self._process.wait()
        assert self._errors is not None
        self._errors.seek(0)
        said = self._errors.read()[-2000:]
        self.close()
        if self._restarts <= 0:
            raise OracleError(
                f"The oracle ended with {code} (a negative one: it was killed, perhaps after {self._patience:.0f} s "
                f"without an answer) at this case:\n{json.dumps(case)}\n{said}"
            )
        self._restarts -= 1


def _send(pipe: IO[str], lines: str) -> None:
    try:
        pipe.write(lines)
        pipe.flush()
    except OSError:  # it ended: the reader sees that too
        pass
