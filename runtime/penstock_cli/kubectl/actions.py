"""Commands of `kubectl penstock` that request an action of the operator, and wait for its result."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import ConfigError, Problem
from penstock_cli.kubectl.requests import Waiting, requested, result_of
from penstock_cli.kubectl_client import Kubectl
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.log_levels import LOG_LEVEL_ANNOTATION, LogLevels
from penstock_runtime.logs import say

__all__ = ["reset_topics", "restart", "set_log_level", "set_state"]


def set_state(kubectl: Kubectl, names: Sequence[str], state: str, waiting: Waiting) -> ExitCode:
    """Set `spec.state`, and wait until all tasks have this state.

    Raises:
        ConnectError: the API server rejects the request, or a Connector does not reach the state in time.
    """
    for name in names:
        kubectl.patch_spec(name, {"state": state})
    for name in names:
        if waiting.until(kubectl, name, lambda c: _has_state(c, state)):
            say(f"{name} is {state}")
        else:
            say(f"{name}: spec.state is {state}")
    return ExitCode.OK


def _has_state(connector: Mapping[str, Any], state: str) -> bool:
    status = connector.get("status") or {}
    is_current = status.get("observedGeneration", 0) >= connector["metadata"]["generation"]
    return bool(is_current and status.get("state") == state)


def restart(
    kubectl: Kubectl, name: str, waiting: Waiting, *, only_failed: bool = False, tasks: str | None = None
) -> ExitCode:
    """Restart all tasks, the failed ones, or tasks by number (`0,2`).

    Raises:
        ConnectError: the API server rejects the request, or there is no result in time.
    """
    action = "restart-tasks" if tasks is not None else "restart-failed" if only_failed else "restart"
    return result_of(kubectl, name, requested(kubectl, name, action, tasks or ""), waiting)


def set_log_level(kubectl: Kubectl, name: str, level: str | None, tasks: str | None) -> ExitCode:
    """Set the log level of running tasks, without a restart; None: that of the release.

    Raises:
        ConfigError: the level or the task numbers are invalid.
        ConnectError: the API server rejects the request.
    """
    value = None if level is None else f"{level} {tasks or ''}".strip()
    try:
        LogLevels.parse(value or "")
    except ValueError as e:
        raise ConfigError(Problem("LEVEL", str(e))) from None
    kubectl.annotate(name, LOG_LEVEL_ANNOTATION, value)
    say(f"{name}: log level {value or 'of the release'} takes effect in a few seconds")
    return ExitCode.OK


def reset_topics(kubectl: Kubectl, name: str, waiting: Waiting) -> ExitCode:
    """Reset the active topics (KIP-558). Raises as `restart`."""
    return result_of(kubectl, name, requested(kubectl, name, "reset-topics"), waiting)
