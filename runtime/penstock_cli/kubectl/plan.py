"""`kubectl penstock plan`: which pods an edit would restart, from a dry run of the API server."""

import json
import sys
from collections.abc import Mapping
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
    answer = kubectl.json("apply", "--dry-run=server", "--filename=-", stdin=document_of(file), has_warnings=True)
    documents = answer["items"] if answer.get("kind") == "List" else [answer]
    for document in (d for d in documents if d.get("kind") == "Connector"):
        sys.stdout.write(_described(document, _live(kubectl, document)))
    if others := sum(d.get("kind") != "Connector" for d in documents):
        sys.stdout.write(f"{others} other resource{'' if others == 1 else 's'}: not planned\n")
    return ExitCode.OK


def _live(kubectl: Kubectl, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    own = document["metadata"]
    words = ("get", "connectors.penstock.dev", own["name"], f"--namespace={own['namespace']}", "--ignore-not-found")
    text = Kubectl(tuple(o for o in kubectl.options if not o.startswith("--namespace="))).text(*words, "--output=json")
    return json.loads(text) if text.strip() else None


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
