"""Commands of `kubectl penstock` that list and change offsets."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import SourcePartition
from penstock_cli.kubectl.requests import RequestFailedError, Waiting, requested, result_of
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.offsets.given import document_of
from penstock_cli.offsets.view import change_table, list_table
from penstock_model.connect.offset_changes import offset_changes
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.logs import say

__all__ = ["alter_offsets", "list_offsets", "reset_offsets"]


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
    """Set the positions in a JSON document, after showing them and asking for confirmation.

    Raises:
        ConfigError: the document cannot be read.
        ConnectError: the Connector is not stopped; otherwise as `list_offsets`.
    """
    document = document_of(file)
    changes = offset_changes(document, file)
    if not _is_confirmed(kubectl, name, "alter", changes, waiting, is_sure=is_sure, is_dry=is_dry):
        return ExitCode.OK if is_dry else ExitCode.FAILED
    return result_of(kubectl, name, requested(kubectl, name, "alter-offsets", document.strip()), waiting)


def reset_offsets(kubectl: Kubectl, name: str, waiting: Waiting, *, is_sure: bool, is_dry: bool) -> ExitCode:
    """Remove all positions, after showing them and asking for confirmation. Raises as `alter_offsets`."""
    if not _is_confirmed(kubectl, name, "reset", None, waiting, is_sure=is_sure, is_dry=is_dry):
        return ExitCode.OK if is_dry else ExitCode.FAILED
    return result_of(kubectl, name, requested(kubectl, name, "reset-offsets"), waiting)


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
    state = kubectl.connector(name)["spec"].get("state", "Running")
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
        raise ConfigError(
            Problem("--yes", "is missing: standard input is not a terminal, so you cannot be asked to confirm")
        )
    sys.stderr.write(f"{verb.capitalize()} these offsets of {name}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    say("Nothing was done.")
    return False


def _listed(kubectl: Kubectl, name: str, waiting: Waiting) -> tuple[list[Mapping[str, Any]], str]:
    """Request a list of the offsets, and return its entries and its JSON."""
    request = requested(kubectl, name, "list-offsets")
    action = Waiting(waiting.seconds or Waiting().seconds).until(kubectl, name, request.result_in)
    if action["result"] != "Succeeded":
        raise RequestFailedError(f"cannot list the offsets of {name}: {action['result']}: {action.get('message', '')}")
    text: str = kubectl.json("get", "configmap", f"{name}-offsets")["data"]["offsets.json"]
    return json.loads(text)["offsets"], text
