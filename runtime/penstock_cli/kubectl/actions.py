"""Commands of `kubectl penstock` that request an action of the operator, and wait for its result."""

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep, time
from typing import Any, Final

from penstock.errors import ConfigError, ConnectError, DataError, Problem
from penstock.offsets import SourcePartition
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.offsets.given import document_of
from penstock_cli.offsets.view import change_table, list_table
from penstock_cli.text_table import printable
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.log_levels import LOG_LEVEL_ANNOTATION, LogLevels
from penstock_runtime.logs import say

__all__ = [
    "RequestFailedError",
    "Waiting",
    "alter_offsets",
    "list_offsets",
    "reset_offsets",
    "reset_topics",
    "restart",
    "set_log_level",
    "set_state",
]

_PREFIX: Final = "penstock.dev/"
_POLL: Final = 0.5
"""Seconds between two looks at a Connector."""
_STATES: Final = ("Running", "Paused", "Stopped")
_FORM: Final = '{"offsets": [{"partition": {...}, "offset": {...}}]}'


class RequestFailedError(ConnectError):
    """Request that the operator refused, or that failed."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long to wait for a result.

    Attributes:
        seconds: 0 does not wait.
    """

    seconds: float = 120.0

    def until(self, kubectl: Kubectl, name: str, found: Callable[[Mapping[str, Any]], Any]) -> Any:
        """Return the result of `found` for the Connector as soon as it has one; None: this does not wait.

        Raises:
            ConnectError: it is not there in time. The message has the condition Ready.
        """
        end = monotonic() + self.seconds
        while self.seconds:
            connector = kubectl.connector(name)
            if result := found(connector):
                return result
            if monotonic() >= end:
                conditions = (connector.get("status") or {}).get("conditions") or ()
                ready: Mapping[str, Any] = next((c for c in conditions if c["type"] == "Ready"), {})
                why = f": {ready['reason']}: {ready.get('message', '')}" if ready else ""
                raise ConnectError(f"no result within {self.seconds:g} s; it may still come (kubectl describe){why}")
            sleep(_POLL)
        return None


@dataclass(frozen=True, slots=True)
class _Request:
    """Request by an annotation: a new token, and perhaps a text after it."""

    annotation: str
    token: str
    field: str
    """Field of the status that has its result."""

    def result_in(self, connector: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the finished action; None: it is not finished.

        Raises:
            ConnectError: another request has replaced this one before the operator has read it.
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


def set_state(kubectl: Kubectl, names: Sequence[str], state: str, waiting: Waiting) -> ExitCode:
    """Set `spec.state`, and wait until all tasks have followed.

    Raises:
        ConnectError: the API server refuses, or a Connector does not follow in time.
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
        ConnectError: the API server refuses, or there is no result in time.
    """
    action = "restart-tasks" if tasks is not None else "restart-failed" if only_failed else "restart"
    return _result(kubectl, name, _requested(kubectl, name, action, tasks or ""), waiting)


def set_log_level(kubectl: Kubectl, name: str, level: str | None, tasks: str | None) -> ExitCode:
    """Set the log level of running tasks, without a restart; None: that of the release.

    Raises:
        ConfigError: the level or the task numbers are wrong.
        ConnectError: the API server refuses.
    """
    value = None if level is None else f"{level} {tasks or ''}".strip()
    try:
        LogLevels.parse(value or "")
    except ValueError as e:
        raise ConfigError(Problem("LEVEL", str(e))) from None
    kubectl.annotate(name, LOG_LEVEL_ANNOTATION, value)
    say(f"{name}: log level {value or 'of the release'}, a few seconds from now")
    return ExitCode.OK


def reset_topics(kubectl: Kubectl, name: str, waiting: Waiting) -> ExitCode:
    """Reset the active topics (KIP-558). Raises as `restart`."""
    return _result(kubectl, name, _requested(kubectl, name, "reset-topics"), waiting)


def list_offsets(kubectl: Kubectl, name: str, waiting: Waiting, *, as_json: bool = False) -> ExitCode:
    """Print the committed offsets (KIP-875). Tasks may run.

    Raises:
        RequestFailedError: the operator refused the list, or it failed.
        ConnectError: as `restart`.
    """
    entries, text = _listed(kubectl, name, waiting)
    if as_json:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    else:
        sys.stdout.write(list_table(entries, {}) if entries else "")
        say(f"{name}: {len(entries)} position{'' if len(entries) == 1 else 's'}")
    return ExitCode.OK


def alter_offsets(kubectl: Kubectl, name: str, file: str, waiting: Waiting, *, is_sure: bool, is_dry: bool) -> ExitCode:
    """Set the positions of a JSON document, after showing them and asking for confirmation.

    Raises:
        ConfigError: the document cannot be read.
        ConnectError: the Connector is not stopped; otherwise as `list_offsets`.
    """
    document = document_of(file)
    changes = _changes_of(document, file)
    if not _is_confirmed(kubectl, name, "alter", changes, waiting, is_sure=is_sure, is_dry=is_dry):
        return ExitCode.OK if is_dry else ExitCode.FAILED
    return _result(kubectl, name, _requested(kubectl, name, "alter-offsets", document.strip()), waiting)


def _changes_of(document: str, file: str) -> dict[SourcePartition, Any]:
    try:
        read = json.loads(document)
    except (ValueError, RecursionError) as e:
        raise ConfigError(Problem(file, f"is not JSON: {e}")) from None
    entries = read.get("offsets") if isinstance(read, dict) else None
    if not isinstance(entries, list):
        raise ConfigError(Problem(file, f"is not in the form of the list: {_FORM}"))
    changes: dict[SourcePartition, Any] = {}
    for n, entry in enumerate(entries):
        partition, offset = (entry.get("partition"), entry.get("offset")) if isinstance(entry, dict) else (None, None)
        if not isinstance(partition, dict) or "offset" not in entry or not isinstance(offset, dict | None):
            raise ConfigError(
                Problem(
                    f"{file}: offsets[{n}]", 'must be {"partition": {...}, "offset": {...}}; the offset can be null'
                )
            )
        try:
            changes[SourcePartition(partition)] = offset
        except DataError as e:
            raise ConfigError(Problem(f"{file}: offsets[{n}]", str(e))) from None
    return changes


def reset_offsets(kubectl: Kubectl, name: str, waiting: Waiting, *, is_sure: bool, is_dry: bool) -> ExitCode:
    """Remove all positions, after showing them and asking for confirmation. Raises as `alter_offsets`."""
    if not _is_confirmed(kubectl, name, "reset", None, waiting, is_sure=is_sure, is_dry=is_dry):
        return ExitCode.OK if is_dry else ExitCode.FAILED
    return _result(kubectl, name, _requested(kubectl, name, "reset-offsets"), waiting)


def _is_confirmed(
    kubectl: Kubectl,
    name: str,
    verb: str,
    changes: Mapping[SourcePartition, Any] | None,
    waiting: Waiting,
    *,
    is_sure: bool,
    is_dry: bool,
) -> bool:
    state = kubectl.connector(name)["spec"].get("state", _STATES[0])
    if state != "Stopped" and not is_dry:
        raise ConnectError(
            f"cannot {verb} the offsets of {name}: spec.state is {state}; run `kubectl penstock stop {name}` first"
        )
    entries, _ = _listed(kubectl, name, Waiting(waiting.seconds or Waiting().seconds))
    before = {SourcePartition(e["partition"]): e["offset"] for e in entries}
    after = dict.fromkeys(before) if changes is None else changes
    is_sink = all(
        set(p) == {"kafka_topic", "kafka_partition"} and (offset is None or "kafka_offset" in offset)
        for p, offset in (*before.items(), *after.items())
    )
    sys.stdout.write(change_table(before, after, is_sink=is_sink))
    sys.stdout.flush()
    if is_dry:
        say("Nothing was requested (--dry-run).")
        return False
    if is_sure:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise ConfigError(Problem("--yes", f"is missing: nobody can be asked whether to {verb} these offsets"))
    sys.stderr.write(f"{verb.capitalize()} these offsets of {name}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    say("Nothing was done.")
    return False


def _listed(kubectl: Kubectl, name: str, waiting: Waiting) -> tuple[list[Mapping[str, Any]], str]:
    """Return the entries of a new list of offsets, and its text."""
    request = _requested(kubectl, name, "list-offsets")
    action = Waiting(waiting.seconds or Waiting().seconds).until(kubectl, name, request.result_in)
    if action["result"] != "Succeeded":
        raise RequestFailedError(f"cannot list the offsets of {name}: {action['result']}: {action.get('message', '')}")
    text: str = kubectl.json("get", "configmap", f"{name}-offsets")["data"]["offsets.json"]
    return json.loads(text)["offsets"], text


def _requested(kubectl: Kubectl, name: str, action: str, content: str = "") -> _Request:
    """Set the annotation of an action, with a new token."""
    token = f"cli-{time() * 1000:.0f}"
    field = "restartActions" if action.startswith("restart") else "offsetsActions"
    request = _Request(f"{_PREFIX}{action}", token, field)
    kubectl.annotate(name, request.annotation, f"{token} {content}".strip())
    return request


def _result(kubectl: Kubectl, name: str, request: _Request, waiting: Waiting) -> ExitCode:
    action = waiting.until(kubectl, name, request.result_in)
    if action is None:
        say(f"{name}: requested, with the token {request.token}")
        return ExitCode.OK
    is_done = action["result"] == "Succeeded"
    text = f"{name}: {action['result']}: {action.get('message', '')}".rstrip(": ")
    say(printable(text), level=logging.INFO if is_done else logging.ERROR)
    return ExitCode.OK if is_done else ExitCode.FAILED
