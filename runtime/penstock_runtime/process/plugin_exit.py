"""`sys.exit` in a plugin, and whatever else it raises that is no `Exception`: a failure of the plugin, not an end as asked.

Python ends a process by such errors, with an exit code that the plugin chose: 0 would count as a stop that somebody asked
for. In Kafka Connect the counterpart is an `Error`, which fails the task whatever `errors.tolerance` says.
"""

from pathlib import Path

from penstock.errors import ConnectError
from penstock_runtime.process.liveness import is_standard

__all__ = ["PluginExit", "as_failure"]


class PluginExit(ConnectError):
    """Code in this process wanted to end it."""


def as_failure(error: BaseException) -> Exception:
    """The error itself, or a `PluginExit` that says what was raised and where, caused by it."""
    if isinstance(error, Exception):
        return error
    failure = PluginExit(
        f"{_place(error)} raised {error!r}, which would end the whole process. A plugin returns or raises an exception "
        f"(ConnectError, or DataError for one record); it does not end the process"
    )
    failure.__cause__ = error
    return failure


def _place(error: BaseException) -> str:
    """The innermost function of the trace that is not of the standard library (`argparse` calls `sys.exit` too)."""
    trace, found = error.__traceback__, "Code outside of any function"
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_standard(code.co_filename):
            found = f"{code.co_qualname} ({Path(code.co_filename).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found
