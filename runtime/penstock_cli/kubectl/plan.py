"""`kubectl penstock plan`: which pods an edit would restart, from a dry run of the API server."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock_cli.kubectl_client import Kubectl
from penstock_cli.migration.secret_texts import secret_properties
from penstock_cli.text_table import text_table
from penstock_model.contracts.exit_codes import ExitCode

__all__ = ["Change", "changes_of", "effect_of", "show_plan"]

_ABSENT: Final = "-"
_HIDDEN: Final = "[hidden]"
_PLANNED: Final = ("config", "class", "version", "spark", "java")


class Change(NamedTuple):
    """Change of one field of the spec, with both values as text."""

    field: str
    before: str
    after: str


def show_plan(kubectl: Kubectl, file: str) -> ExitCode:
    """Print the changes that applying a file would make to Connectors, and their effect on running tasks.

    Args:
        kubectl: of the cluster.
        file: manifests; `-` is standard input. The API server checks them all, as `kubectl apply` does.

    Raises:
        ConnectError: the API server refuses the manifests, or cannot be reached.
    """
    text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    answer = kubectl.json("apply", "--dry-run=server", "--filename=-", stdin=text)
    documents = answer["items"] if answer.get("kind") == "List" else [answer]
    for document in (d for d in documents if d.get("kind") == "Connector"):
        sys.stdout.write(_described(document, _live(kubectl, document)))
    if others := sum(d.get("kind") != "Connector" for d in documents):
        sys.stdout.write(f"{others} other resource{'' if others == 1 else 's'}: not planned\n")
    return ExitCode.OK


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return the changed fields of a spec; properties of `config` one by one, secret ones without their values."""
    secret = {
        f"config.{name}"
        for spec in (before, after)
        for name in secret_properties(spec["class"], {n: str(t) for n, t in (spec.get("config") or {}).items()})
    }
    found: list[Change] = []
    old, new = dict(_fields(before)), dict(_fields(after))
    for field in sorted(old.keys() | new.keys()):
        if old.get(field) == new.get(field):
            continue
        texts = (_HIDDEN if field in secret and each is not None else each for each in (old.get(field), new.get(field)))
        found.append(Change(field, *(_ABSENT if text is None else text for text in texts)))
    return found


def effect_of(changes: Sequence[Change], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return which tasks a change of the spec restarts, as documented in connectors.md, "Change a connector"."""
    fields = {c.field.partition(".")[0] for c in changes}
    state, was = after.get("state", "Running"), before.get("state", "Running")
    if state == "Stopped":
        return (
            "no task runs; the configuration takes effect when the state changes" if was == state else "all tasks end"
        )
    effects = []
    if was == "Stopped":
        effects.append("tasks start")
    elif "state" in fields:
        effects.append("tasks pause, without a restart" if state == "Paused" else "tasks resume, without a restart")
    if "tasksMax" in fields:
        effects.append("all tasks restart, if the plugin makes another number of tasks")
    elif fields & {*_PLANNED}:
        effects.append("tasks whose configuration changes are replaced after validation; if it fails, all keep running")
    elif "topicCreationPolicyRef" in fields:
        effects.append("tasks are replaced one by one, if the rules change")
    elif "template" in fields:
        effects.append("tasks are replaced with the new pod template")
    return "; ".join(effects) or "no task restarts"


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
    changes = changes_of(live["spec"], document["spec"])
    if not changes:
        return f"{name}: unchanged\n"
    running = [
        t["id"] for t in (live.get("status") or {}).get("tasks") or () if t.get("state") in ("Running", "Paused")
    ]
    rows = [("FIELD", "BEFORE", "AFTER"), *changes]
    effect = effect_of(changes, live["spec"], document["spec"])
    return f"{name}: {effect} ({len(running)} running)\n{text_table(rows)}"


def _fields(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, value in spec.items():
        if field == "config":
            # As Penstock compares them: a number and its text are the same.
            yield from ((f"config.{name}", _text(each)) for name, each in value.items())
        else:
            yield field, _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
