"""The JVM of this process, which runs its Java plugins: started when one is first asked for."""

import atexit
import threading

from penstock_runtime.java_plugins.connection import Connection

__all__ = ["close_host", "host"]

_lock = threading.Lock()
_running: list[Connection] = []


def host() -> Connection:
    """Return the running host, started now if there is none.

    Raises:
        ConnectError: Java, its jars or the JVM are missing; the message says what to do.
    """
    with _lock:
        if not (_running and _running[0].is_open):
            _running[:] = [Connection()]
        return _running[0]


def close_host() -> None:
    """End it, if there is one. The next call of `host` starts another one."""
    with _lock:
        closing, _running[:] = [*_running], []
    for each in closing:
        each.close()


atexit.register(close_host)
