"""Requests to the operator by annotations, and waiting for their results."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic, sleep, time
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.text_table import printable
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.logs import say

__all__ = ["Request", "RequestFailedError", "Waiting", "requested", "result_of"]

_PREFIX: Final = "penstock.dev/"
_POLL: Final = 0.5
"""Seconds between polls of a Connector."""


class RequestFailedError(ConnectError):
    """Request that the operator refused, or that failed."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Time limit for waiting for a result.

    Attributes:
        seconds: seconds to wait; 0: do not wait.
    """

    seconds: float = 120.0

    def until(self, kubectl: Kubectl, name: str, found: Callable[[Mapping[str, Any]], Any]) -> Any:
        """Poll the Connector until `found` returns a result, and return it; None if `seconds` is 0.

        Raises:
            ConnectError: there is no result in time. The message has the condition Ready.
        """
        end = monotonic() + self.seconds
        while self.seconds:
            connector = kubectl.connector(name)
            if result := found(connector):
                return result
            if monotonic() >= end:
                conditions = (connector.get("status") or {}).get("conditions") or ()
                ready: Mapping[str, Any] = next((c for c in conditions if c["type"] == "Ready"), {})
                why = f"; its condition Ready: {ready['reason']}: {ready.get('message', '')}" if ready else ""
                raise ConnectError(
                    f"there is no result for {name} within {self.seconds:g} s; `kubectl describe connector {name} -n "
                    f"{connector['metadata']['namespace']}` may show it later{why}"
                )
            sleep(_POLL)
        return None


@dataclass(frozen=True, slots=True)
class Request:
    """Request by an annotation, whose value is a new token, and optionally content after it."""

    annotation: str
    token: str
    field: str
    """Field of the status that has its result."""

    def result_in(self, connector: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the finished action; None: it is not finished.

        Raises:
            ConnectError: another request replaced this one before the operator read it.
        """
        actions = (connector.get("status") or {}).get(self.field) or ()
        action: Mapping[str, Any] | None = next((a for a in actions if a["token"].split(" ")[0] == self.token), None)
        if action is None:
            present = (connector["metadata"].get("annotations") or {}).get(self.annotation, "")
            if present.split(" ")[0] != self.token:
                raise ConnectError(
                    f"cannot wait for the result: the annotation {self.annotation} was changed by another user before the "
                    f"operator reported this request; repeat the command if it is still needed"
                )
        return action if action is not None and action["result"] != "Pending" else None


def requested(kubectl: Kubectl, name: str, action: str, content: str = "") -> Request:
    """Set the annotation of an action, with a new token."""
    token = f"cli-{time() * 1000:.0f}"
    field = "restartActions" if action.startswith("restart") else "offsetsActions"
    request = Request(f"{_PREFIX}{action}", token, field)
    kubectl.annotate(name, request.annotation, f"{token} {content}".strip())
    return request


def result_of(kubectl: Kubectl, name: str, request: Request, waiting: Waiting) -> ExitCode:
    """Wait for the result of a request, and print it. Raises as `Waiting.until`."""
    action = waiting.until(kubectl, name, request.result_in)
    if action is None:
        say(f"{name}: requested, with the token {request.token}")
        return ExitCode.OK
    is_done = action["result"] == "Succeeded"
    text = f"{name}: {action['result']}: {action.get('message', '')}".rstrip(": ")
    say(printable(text), level=logging.INFO if is_done else logging.ERROR)
    return ExitCode.OK if is_done else ExitCode.FAILED
