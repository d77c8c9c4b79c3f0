"""`kubectl penstock plan`: which pods an edit would restart, from a dry run of the API server."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from penstock_cli.kubectl.plan_changes import changes_of, effect_of
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.offsets.given import document_of
from penstock_cli.text_table import text_table
from penstock_model.contracts.exit_codes import ExitCode

__all__ = ["show_plan"]


def show_plan(kubectl: Kubectl, file: str) -> ExitCode:
    """Print the changes that applying a file would make to Connectors, and their effect on running tasks.

    Args:
        kubectl: of the cluster.
        file: manifests; `-` is standard input. The API server checks them all, as `kubectl apply` does.

    Raises:
        ConfigError: the file cannot be read.
        ConnectError: the API server refuses the manifests, or cannot be reached.
    """
    text = document_of(file)
    documents = _applied(kubectl, text, has_warnings=True)
    connectors = _connectors(documents)
    by_manager: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for key, document in connectors.items():
        live = _live(kubectl, document)
        planned = document
        if (manager := _applier(live)) is not None:
            if manager not in by_manager:
                words = ("--server-side", "--force-conflicts", f"--field-manager={manager}")
                by_manager[manager] = _connectors(_applied(kubectl, text, *words))
            planned = by_manager[manager][key]
        sys.stdout.write(_described(planned, live))
    if others := len(documents) - len(connectors):
        sys.stdout.write(f"{others} other resource{'' if others == 1 else 's'}: not planned\n")
    return ExitCode.OK


def _applied(kubectl: Kubectl, text: str, *words: str, has_warnings: bool = False) -> Sequence[Mapping[str, Any]]:
    """Return the resources as they would be after `kubectl apply`."""
    answer = kubectl.json("apply", "--dry-run=server", "--filename=-", *words, stdin=text, has_warnings=has_warnings)
    items: Sequence[Mapping[str, Any]] = answer["items"] if answer.get("kind") == "List" else [answer]
    return items


def _connectors(documents: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(d["metadata"]["namespace"], d["metadata"]["name"]): d for d in documents if d.get("kind") == "Connector"}


def _applier(live: Mapping[str, Any] | None) -> str | None:
    """Return the field manager that applies a resource on the server, such as Flux; None: there is none."""
    entries = () if live is None else live["metadata"].get("managedFields") or ()
    return next((e["manager"] for e in entries if e["operation"] == "Apply" and not e.get("subresource")), None)


def _live(kubectl: Kubectl, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    own = document["metadata"]
    words = ("get", "connectors.penstock.dev", own["name"], f"--namespace={own['namespace']}")
    # Without the namespace of the command line, which may be another one.
    place = Kubectl(tuple(o for o in kubectl.options if not o.startswith("--namespace=")))
    return place.json_or_none(*words, "--show-managed-fields")


def _described(document: Mapping[str, Any], live: Mapping[str, Any] | None) -> str:
    own = document["metadata"]
    name = f"{own['namespace']}/{own['name']}"
    if live is None:
        return f"{name}: new; up to {document['spec'].get('tasksMax', 1)} tasks start after validation\n"
    changes = changes_of(live, document)
    if not changes:
        return f"{name}: unchanged\n"
    running = [
        t["id"] for t in (live.get("status") or {}).get("tasks") or () if t.get("state") in ("Running", "Paused")
    ]
    rows = [("FIELD", "BEFORE", "AFTER"), *changes]
    effect = effect_of(changes, live["spec"], document["spec"])
    return f"{name}: {effect} ({len(running)} running)\n{text_table(rows)}"
