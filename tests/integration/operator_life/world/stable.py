"""Forks operators: it has imported everything, so that one starts in no time. Reads orders from standard input.

An order is a line of JSON, `{"arguments": [...], "environment": {...}, "log": "..."}`; the answer is the process id. A
process that has ended is told by a line in `<log>.end`: its exit code, or the signal as a negative number.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import penstock_operator.__main__ as operator


def main() -> None:
    while line := sys.stdin.readline():
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(order)
        print(pid, flush=True)
        threading.Thread(target=_bury, args=(pid, order["log"]), daemon=True).start()


def _bury(pid: int, log: str) -> None:
    _, status = os.waitpid(pid, 0)
    part = Path(f"{log}.part")
    part.write_text(str(os.waitstatus_to_exitcode(status)))
    part.rename(f"{log}.end")


def _become(order: dict[str, Any]) -> None:
    code = 70
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.update(order["environment"])
        log = os.open(str(order["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stderr = os.fdopen(2, "w", buffering=1)
        code = operator.main(order["arguments"])
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
