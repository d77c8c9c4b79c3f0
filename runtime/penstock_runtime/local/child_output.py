"""What a task's processes write that is no log line of ours (Java, a plugin's `print`, a crash): made into log lines.

It is done here and not in the task, because last words come from processes that are past doing it themselves.
"""

import json
import os
import time
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["Words"]

_LONGEST: Final = 1 << 16  # bytes without an end of line
_ROUNDS: Final = 16
_IDLE: Final = ("WARNING: Using incubator modules: jdk.incubator.vector",)
"""What Java says at every start, and what nobody needs to know."""


class Words:
    """The reading end of a pipe that takes the standard output and the standard error of processes.

    Args:
        log: where the lines go, a descriptor.
        context: fields of every line.
    """

    def __init__(self, log: int, context: Mapping[str, Any]) -> None:
        self._log = log
        self._context = context
        self._partial = b""
        self.descriptor, self.writing = os.pipe()
        os.set_blocking(self.descriptor, False)

    def pass_on(self, *, last: bool = False) -> None:
        """Write what has come to the log; `last`: without waiting for the end of the last line.

        Of one that never stops talking, no more than is read in a moment: the others are heard too.
        """
        for _ in range(_ROUNDS):
            try:
                data = os.read(self.descriptor, _LONGEST)
            except BlockingIOError:
                data = b""
            *lines, self._partial = (self._partial + data).split(b"\n")
            if self._partial and (last or len(self._partial) >= _LONGEST) and len(data) < _LONGEST:
                lines, self._partial = [*lines, self._partial], b""
            self._write([line.decode(errors="replace") for line in lines])
            if not data:
                return

    def close(self) -> None:
        """Pass on what is left; whoever writes afterwards writes to nobody."""
        self.pass_on(last=True)
        os.close(self.descriptor)

    def _write(self, lines: list[str]) -> None:
        """One log line each for what is one already, and one for all plain lines in a row: a trace is one thing."""
        plain: list[str] = []
        for line in lines:
            ready = _as_log_line(line)
            if ready is None:
                plain += [line] if line.strip() and line not in _IDLE else []
                continue
            self._say(plain)
            plain = []
            self._put({**ready, **self._context})
        self._say(plain)

    def _say(self, lines: list[str]) -> None:
        if lines:
            now = time.time()
            stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
            text = "\n".join(lines)
            self._put({"time": stamp, "level": "warning", "logger": "stderr", "message": text, **self._context})

    def _put(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n"
        while data:
            data = data[os.write(self._log, data) :]


def _as_log_line(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "message" in found else None
