"""The JVM of this process, which runs its Java plugins: started on first use."""

import atexit
import threading

from penstock_model.resources.task_settings import Java
from penstock_runtime.java_plugins.connection import Connection

__all__ = ["close_host", "expect_long_work", "host", "running_host", "use_java"]

_lock = threading.Lock()
_running: list[Connection] = []
_is_long = threading.Event()
_java = [Java()]


def host() -> Connection:
    """Return the running host; start one if there is none.

    Raises:
        ConnectError: Java or its jars are missing, or the JVM cannot be started; the message says what to do.
    """
    with _lock:
        if not (_running and _running[0].is_open):
            _running[:] = [Connection(_java[0], is_long=_is_long.is_set())]
        return _running[0]


def running_host() -> Connection | None:
    """Return the running host; None if there is none. Does not wait for a JVM that is starting."""
    running = [*_running]
    return running[0] if running and running[0].is_open else None


def expect_long_work() -> None:
    """Optimize JVMs started from now on for a long run, because this process runs a task, not a plan."""
    _is_long.set()


def use_java(java: Java | None) -> None:
    """Run Java plugins in a JVM with this heap and these options from now on. A JVM running with others is closed."""
    wanted = java or Java()
    if wanted != _java[0]:
        close_host()
        _java[0] = wanted


def close_host() -> None:
    """End the JVM, if there is one. The next call of `host` starts another one."""
    with _lock:
        closing, _running[:] = [*_running], []
    for each in closing:
        each.close()


atexit.register(close_host)
