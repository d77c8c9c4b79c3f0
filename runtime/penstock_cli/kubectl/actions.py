"""Commands of `kubectl penstock` that request an action of the operator, and wait for its result."""

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep, time
from typing import Any, Final

from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import SourcePartition
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.offsets.given import document_of
from penstock_cli.offsets.view import change_table, list_table
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.log_levels import LOG_LEVEL_ANNOTATION, LogLevels
from penstock_runtime.logs import say

__all__ = [
    "Waiting",
    "alter_offsets",
    "list_offsets",
    "reset_offsets",
    "reset_topics",
    "restart",
    "set_log_level",
    "set_state",
]

_POLL: Final = 0.5
"""Seconds between two looks at a Connector."""
_RESTART: Final = "penstock.dev/restart"
_STATES: Final = ("Running", "Paused", "Stopped")


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long to wait for a result.

    Attributes:
        seconds: 0 does not wait.
    """

    seconds: float = 120.0

    def until(self, kubectl: Kubectl, name: str, found: Callable[[Mapping[str, Any]], Any]) -> Any:
        """Return what is found in the Connector as soon as it is there; None: it was not waited for.

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
    token = _token()
    if tasks is not None:
        kubectl.annotate(name, f"{_RESTART}-tasks", f"{token} {tasks}")
    else:
        kubectl.annotate(name, f"{_RESTART}-failed" if only_failed else _RESTART, token)
    return _result(kubectl, name, "restartActions", token, waiting)


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
    token = _token()
    kubectl.annotate(name, "penstock.dev/reset-topics", token)
    return _result(kubectl, name, "offsetsActions", token, waiting)


def list_offsets(kubectl: Kubectl, name: str, waiting: Waiting, *, as_json: bool = False) -> ExitCode:
    """Print the committed offsets (KIP-875). Tasks may run. Raises as `restart`."""
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
        ConnectError: the Connector is not stopped; otherwise as `restart`.
    """
    document = document_of(file)
    try:
        requested = json.loads(document)["offsets"]
        changes = {SourcePartition(entry["partition"]): entry["offset"] for entry in requested}
    except (ValueError, TypeError, KeyError):
        form = '{"offsets": [{"partition": {...}, "offset": {...}}]}'
        raise ConfigError(Problem(file, f"is not in the form of the list: {form}")) from None
    if not _is_confirmed(kubectl, name, "alter", changes, waiting, is_sure=is_sure, is_dry=is_dry):
        return ExitCode.OK if is_dry else ExitCode.FAILED
    token = _token()
    kubectl.annotate(name, "penstock.dev/alter-offsets", f"{token} {document.strip()}")
    return _result(kubectl, name, "offsetsActions", token, waiting)


def reset_offsets(kubectl: Kubectl, name: str, waiting: Waiting, *, is_sure: bool, is_dry: bool) -> ExitCode:
    """Remove all positions, after showing them and asking for confirmation. Raises as `alter_offsets`."""
    if not _is_confirmed(kubectl, name, "reset", None, waiting, is_sure=is_sure, is_dry=is_dry):
        return ExitCode.OK if is_dry else ExitCode.FAILED
    token = _token()
    kubectl.annotate(name, "penstock.dev/reset-offsets", token)
    return _result(kubectl, name, "offsetsActions", token, waiting)


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
    is_sink = all(set(p) == {"kafka_topic", "kafka_partition"} for p in (*before, *after))
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
    token = _token()
    kubectl.annotate(name, "penstock.dev/list-offsets", token)
    action = Waiting(waiting.seconds or Waiting().seconds).until(
        kubectl, name, lambda c: _action(c, "offsetsActions", token)
    )
    if action["result"] != "Succeeded":
        raise ConnectError(f"cannot list the offsets of {name}: {action['result']}: {action.get('message', '')}")
    text: str = kubectl.json("get", "configmap", f"{name}-offsets")["data"]["offsets.json"]
    return json.loads(text)["offsets"], text


def _result(kubectl: Kubectl, name: str, field: str, token: str, waiting: Waiting) -> ExitCode:
    action = waiting.until(kubectl, name, lambda c: _action(c, field, token))
    if action is None:
        say(f"{name}: requested, with the token {token}")
        return ExitCode.OK
    is_done = action["result"] == "Succeeded"
    text = f"{name}: {action['result']}: {action.get('message', '')}".rstrip(": ")
    say(text, level=logging.INFO if is_done else logging.ERROR)
    return ExitCode.OK if is_done else ExitCode.FAILED


def _action(connector: Mapping[str, Any], field: str, token: str) -> Mapping[str, Any] | None:
    """Return the finished action with this token; None: there is none yet."""
    actions = (connector.get("status") or {}).get(field) or ()
    return next((a for a in actions if a["token"].split(" ")[0] == token and a["result"] != "Pending"), None)


def _token() -> str:
    return f"cli-{time() * 1000:.0f}"
