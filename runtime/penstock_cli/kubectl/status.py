"""`kubectl penstock status`, `versions`, `topics` and `logs`: show the Connectors of a cluster."""

import sys
from collections.abc import Mapping, Sequence
from time import sleep, time
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_cli.kubectl.status_view import Measured, connector_list, connector_view, pods_of, versions_view
from penstock_cli.kubectl.task_figures import MAX_TASKS, Figures, Pod, read_figures
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.text_table import text_table
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.logs import say

__all__ = ["show_logs", "show_status", "show_topics", "show_versions"]

_BETWEEN: Final = 2.0
"""Seconds between two measurements of a rate, and between two refreshes of `--watch`."""
_CLEAR: Final = "\x1b[H\x1b[2J"


def show_status(
    kubectl: Kubectl, names: Sequence[str], *, is_everywhere: bool = False, is_watching: bool = False
) -> ExitCode:
    """Print a line for each Connector, or the details of those that are named; again every two seconds, if watching.

    Raises:
        ConnectError: a Connector does not exist, or the cluster cannot be read.
    """
    before: Mapping[Pod, Figures] = {}
    while True:
        connectors = _read(kubectl, names, is_everywhere=is_everywhere)
        pods = pods_of(connectors)
        latest, error = _figures(kubectl, pods)
        if pods and latest and not before and not is_watching:
            sleep(_BETWEEN)
            before = latest
            latest, error = _figures(kubectl, pods)
        measured: Measured = {pod: (before.get(pod), figures) for pod, figures in latest.items()}
        if names:
            text = "\n".join(connector_view(c, measured, time()) for c in connectors)
        else:
            text = connector_list(connectors, measured, time(), with_namespace=is_everywhere)
        sys.stdout.write(f"{_CLEAR if is_watching and sys.stdout.isatty() else ''}{text}")
        sys.stdout.flush()
        if error:
            say(f"Rates and lags are missing: {error}")
        if not is_watching:
            return ExitCode.OK
        before = latest
        sleep(_BETWEEN)


def show_topics(kubectl: Kubectl, name: str) -> ExitCode:
    """Print the active topics (KIP-558), with the time and the task of the first use. Raises as `show_status`."""
    status = kubectl.connector(name).get("status") or {}
    topics = status.get("activeTopics") or ()
    rows = [("TOPIC", "SINCE", "TASK"), *((t["name"], t.get("since", ""), str(t.get("task", ""))) for t in topics)]
    sys.stdout.write(text_table(rows) if topics else "")
    count = status.get("activeTopicCount", len(topics))
    more = f", the first {len(topics)} are shown" if count > len(topics) else ""
    say(f"{name}: {count} active topic{'' if count == 1 else 's'}{more}")
    return ExitCode.OK


def show_versions(kubectl: Kubectl, name: str) -> ExitCode:
    """Print the plugin versions that each task runs (KIP-891). Raises as `show_status`."""
    sys.stdout.write(versions_view(kubectl.connector(name)))
    return ExitCode.OK


def show_logs(kubectl: Kubectl, name: str, task: int | None, options: Sequence[str]) -> ExitCode:
    """Print the logs of the tasks, or of one, by `kubectl logs`.

    Raises:
        ConnectError: the task has no pod. Otherwise as `show_status`.
    """
    connector = kubectl.connector(name)
    tasks = (connector.get("status") or {}).get("tasks") or ()
    if task is None:
        selector = f"penstock.dev/connector-uid={connector['metadata']['uid']},penstock.dev/role=task"
        # A replaced task has two pods for some seconds. With a selector, kubectl's defaults are 5 pods and 10 lines.
        words = (f"--selector={selector}", "--prefix", f"--max-log-requests={max(10, 2 * len(tasks))}", "--tail=-1")
        kubectl.replace_process("logs", *words, *options)
    pod = next((t.get("pod") for t in tasks if t["id"] == task), None)
    if not pod:
        raise ConnectError(
            f"cannot read the log of task {task} of {name}: it has no pod; see `kubectl penstock status {name} -n "
            f"{connector['metadata']['namespace']}`"
        )
    kubectl.replace_process("logs", pod, *options)


def _read(kubectl: Kubectl, names: Sequence[str], *, is_everywhere: bool) -> list[dict[str, Any]]:
    if names:
        return [kubectl.connector(name) for name in names]
    words = ["get", "connectors.penstock.dev", *(["--all-namespaces"] if is_everywhere else [])]
    items: list[dict[str, Any]] = kubectl.json(*words)["items"]
    return items


def _figures(kubectl: Kubectl, pods: Sequence[Pod]) -> tuple[Mapping[Pod, Figures], str]:
    if len(pods) > MAX_TASKS:
        return {}, f"they are read for at most {MAX_TASKS} tasks, but there are {len(pods)}; name some Connectors"
    return read_figures(kubectl, pods)
