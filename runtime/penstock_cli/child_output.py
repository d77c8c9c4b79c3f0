"""Conversion of a task's output that is not a log line (Java, a plugin's `print`, a crash) into log lines.

The parent does this and not the task, because a process that crashes can no longer do it.
"""

import json
import logging
import os
from collections.abc import Mapping
from typing import Any, Final

from penstock_logging import JsonLines

__all__ = ["ChildOutput"]

_READ_SIZE: Final = 1 << 16
"""Maximum bytes of one read. An incomplete line of at least this length is logged after a read that returns fewer bytes."""
_READS: Final = 16
"""Maximum number of reads from one child before the others are read."""
_IGNORED: Final = ("WARNING: Using incubator modules: jdk.incubator.vector",)
"""Lines that Java prints at every start; they mean nothing to users."""


class ChildOutput:
    """Reading end of a pipe that takes the standard output and the standard error of a task's processes.

    Args:
        log: descriptor to which lines are written.
        context: fields of every line.
    """

    def __init__(self, log: int, context: Mapping[str, Any]) -> None:
        self._log = log
        self._context = context
        self._formatter = JsonLines(lambda: context, str)
        self._partial = b""
        self.descriptor, self.writing = os.pipe()
        os.set_blocking(self.descriptor, False)

    def pass_on(self, *, last: bool = False) -> None:
        """Write the lines received so far to the log; with `last`, also an incomplete line.

        One call reads at most 1 MiB, so that a child that never stops printing does not block the others.
        """
        for _ in range(_READS):
            try:
                data = os.read(self.descriptor, _READ_SIZE)
            except BlockingIOError:
                data = b""
            *lines, self._partial = (self._partial + data).split(b"\n")
            if self._partial and (last or len(self._partial) >= _READ_SIZE) and len(data) < _READ_SIZE:
                lines, self._partial = [*lines, self._partial], b""
            self._write([line.decode(errors="replace") for line in lines])
            if not data:
                return

    def close(self) -> None:
        """Write the rest to the log. A process that prints later gets a broken pipe."""
        self.pass_on(last=True)
        os.close(self.descriptor)

    def _write(self, lines: list[str]) -> None:
        """Write JSON log lines unchanged. Successive plain lines become one log line, so that a trace is not split."""
        plain: list[str] = []
        for line in lines:
            log_line = _parsed_log_line(line)
            if log_line is None:
                plain += [line] if line.strip() and line not in _IGNORED else []
                continue
            self._write_plain(plain)
            plain = []
            self._write_text(json.dumps({**log_line, **self._context}, ensure_ascii=False))
        self._write_plain(plain)

    def _write_plain(self, lines: list[str]) -> None:
        if lines:
            fields = {"name": "stderr", "levelname": "WARNING", "msg": "\n".join(lines)}
            self._write_text(self._formatter.format(logging.makeLogRecord(fields)))

    def _write_text(self, text: str) -> None:
        data = text.encode(errors="replace") + b"\n"
        while data:
            data = data[os.write(self._log, data) :]


def _parsed_log_line(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) and "message" in fields else None
