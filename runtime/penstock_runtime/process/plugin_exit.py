"""Treat `sys.exit` in a plugin, and anything else it raises that is not an `Exception`, as a failure of the plugin.

Otherwise Python would exit with the code that the plugin chose, and 0 would count as a requested stop. The counterpart in
Kafka Connect is an `Error`, which fails the task regardless of `errors.tolerance`.
"""

from penstock.errors import ConnectError
from penstock_runtime.process.plugin_place import place_of_error

__all__ = ["PluginExit", "as_failure"]


class PluginExit(ConnectError):
    """Raised when a plugin's code tried to end the process."""


def as_failure(error: BaseException) -> Exception:
    """Return the error if it is an `Exception`, else a `PluginExit` caused by it that names what was raised and where."""
    if isinstance(error, Exception):
        return error
    place = place_of_error(error) or "Code outside of any function"
    failure = PluginExit(
        f"{place} raised {error!r}, which would end the whole process; a plugin must return, or raise ConnectError "
        f"(DataError for a single record)"
    )
    failure.__cause__ = error
    return failure
