"""`sys.exit` in a plugin, and whatever else it raises that is no `Exception`: a failure of the plugin, not an end as asked.

Python ends a process by such errors, with an exit code that the plugin chose: 0 would count as a stop that somebody asked
for. In Kafka Connect the counterpart is an `Error`, which fails the task whatever `errors.tolerance` says.
"""

from penstock.errors import ConnectError
from penstock_runtime.process.plugin_place import place_of_error

__all__ = ["PluginExit", "as_failure"]


class PluginExit(ConnectError):
    """Code in this process wanted to end it."""


def as_failure(error: BaseException) -> Exception:
    """The error itself, or a `PluginExit` that says what was raised and where, caused by it."""
    if isinstance(error, Exception):
        return error
    place = place_of_error(error) or "Code outside of any function"
    failure = PluginExit(
        f"{place} raised {error!r}, which would end the whole process. A plugin returns or raises an exception "
        f"(ConnectError, or DataError for one record); it does not end the process"
    )
    failure.__cause__ = error
    return failure
