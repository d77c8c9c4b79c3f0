"""`kubectl penstock plan`: shows which tasks an edit would restart and which topics it would create, by a dry run."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from penstock.errors import ConnectError
from penstock_cli.kubectl.plan_changes import changes_of, effect_of
from penstock_cli.kubectl.planned_topics import concerns_topics, planned_topics
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.offsets.given import document_of
from penstock_cli.text_table import text_table
from penstock_model.contracts.exit_codes import ExitCode

__all__ = ["show_plan"]

_Json = Mapping[str, Any]


class _Name(NamedTuple):
    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, resource: _Json) -> "_Name":
        group, slash, _ = resource["apiVersion"].partition("/")
        own = resource["metadata"]
        return cls(group if slash else "", resource["kind"], own.get("namespace", ""), own.get("name", ""))

    def is_a(self, kind: str) -> bool:
        return (self.group, self.kind) == ("penstock.dev", kind)


def show_plan(kubectl: Kubectl, file: str) -> ExitCode:
    """Print the changes that applying a file would make to Connectors, their effect on running tasks, and new topics.

    Args:
        kubectl: client of the cluster.
        file: manifests; `-` is standard input. The API server checks them all, as `kubectl apply` does.

    Raises:
        ConfigError: the file cannot be read.
        ConnectError: the API server refuses the manifests, or cannot be reached.
    """
    # Only reads them, with their namespaces: the API server's dry run needs the field manager of each resource.
    given = kubectl.resources(
        "create", "--dry-run=client", "--validate=ignore", "--filename=-", stdin=document_of(file)
    )
    words = ("get", "--ignore-not-found", "--show-managed-fields", "--filename=-")
    live = {_Name.of(r): r for r in kubectl.resources(*words, stdin=_list(given))}
    planned = _applied(kubectl, given, live)

    @cache
    def policies(namespace: str) -> Sequence[_Json] | str:
        return _policies(kubectl, namespace, planned)

    connectors = {name: resource for name, resource in planned.items() if name.is_a("Connector")}
    for name, connector in connectors.items():
        sys.stdout.write(_described(name, connector, live.get(name), policies))
    if others := len(planned) - len(connectors):
        sys.stdout.write(f"{others} other resource{'' if others == 1 else 's'}: not planned\n")
    return ExitCode.OK


def _applied(kubectl: Kubectl, given: Sequence[_Json], live: Mapping[_Name, _Json]) -> dict[_Name, _Json]:
    """Return the resources as they would be after their field managers have applied them."""
    by_manager: dict[str | None, list[_Json]] = {}
    for resource in given:
        by_manager.setdefault(_applier(live.get(_Name.of(resource))), []).append(resource)
    planned: dict[_Name, _Json] = {}
    for manager, resources in by_manager.items():
        words = () if manager is None else ("--server-side", "--force-conflicts", f"--field-manager={manager}")
        command = ("apply", "--dry-run=server", "--filename=-", *words)
        planned |= {_Name.of(r): r for r in kubectl.resources(*command, stdin=_list(resources), has_warnings=True)}
    return {name: planned[name] for name in map(_Name.of, given) if name in planned}


def _applier(live: _Json | None) -> str | None:
    """Return the field manager that applies a resource on the server, such as Flux; None: there is none."""
    entries = () if live is None else live["metadata"].get("managedFields") or ()
    return next((e["manager"] for e in entries if e["operation"] == "Apply" and not e.get("subresource")), None)


def _policies(kubectl: Kubectl, namespace: str, planned: Mapping[_Name, _Json]) -> Sequence[_Json] | str:
    """Return the TopicCreationPolicies of a namespace, with those of the file; a string: why they cannot be read."""
    try:
        there = kubectl.resources("get", "topiccreationpolicies.penstock.dev", f"--namespace={namespace}")
    except ConnectError as e:
        return str(e)
    edited = {n: r for n, r in planned.items() if n.is_a("TopicCreationPolicy") and n.namespace == namespace}
    return [*({_Name.of(r): r for r in there} | edited).values()]


def _list(resources: Sequence[_Json]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": resources})


def _described(
    name: _Name, after: _Json, before: _Json | None, policies: Callable[[str], Sequence[_Json] | str]
) -> str:
    title = f"{name.namespace}/{name.name}"
    if before is None:
        most = after["spec"].get("tasksMax", 1)
        start = f"{title}: new; up to {most} {'task starts' if most == 1 else 'tasks start'} after validation\n"
        return start + planned_topics(after, None, policies(name.namespace))
    changes = changes_of(before, after)
    if not changes:
        return f"{title}: unchanged\n"
    tasks = (before.get("status") or {}).get("tasks") or ()
    running = [t["id"] for t in tasks if t.get("state") in ("Running", "Paused")]
    rows = [("FIELD", "BEFORE", "AFTER"), *changes]
    effect = effect_of(changes, before["spec"], after["spec"])
    topics = planned_topics(after, before, policies(name.namespace)) if concerns_topics(changes) else ""
    return f"{title}: {effect} ({len(running)} running)\n{text_table(rows)}{topics}"
