"""Restarts requested by annotations, once per token. Pure.

`penstock.dev/restart: <token>`, `penstock.dev/restart-failed: <token>`, `penstock.dev/restart-tasks: "<token> 0,2"`. The
annotation is not removed, since Git may contain it; the status has the handled requests (`restartActions`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock_operator.connector.model.persisted_state import HandledRequest, PersistedState, last_restart
from penstock_operator.connector.model.restart_tokens import RESTART_ACTIONS, restart_token

__all__ = ["ACTIONS_KEPT", "RestartRequests", "kept_actions", "restart_requests"]

ACTIONS_KEPT: Final = 10
_TOKEN_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class RestartRequests:
    """Restarts to do now.

    Attributes:
        all: whether to restart the connector: plan again, and restart every task.
        tasks: numbers of tasks to restart.
        handled: the requests that are handled now, for the status.
        later: whether restarts of tasks wait until planning is done or the template is accepted.
    """

    all: bool = False
    tasks: frozenset[int] = field(default_factory=frozenset)
    handled: tuple[HandledRequest, ...] = ()
    later: bool = False


def restart_requests(
    annotations: Mapping[str, str], persisted: PersistedState, *, running: bool, tasks: Collection[int], now: float
) -> RestartRequests:
    """Return the restarts that annotations request and that were not handled before.

    Args:
        annotations: annotations of the connector.
        persisted: has the handled tokens and the failed tasks.
        running: whether the tasks should run, as `spec.state` requests.
        tasks: the numbers of the existing tasks.
        now: seconds since 1970.
    """
    handled_before = {(h.action, h.token) for h in persisted.handled}
    everything, chosen, handled = False, set[int](), []
    for action in RESTART_ACTIONS:
        token, rest = restart_token(annotations, action)
        # `restart-tasks` may name other tasks with the same token, but it is still one request.
        if not token or (action, token) in handled_before:
            continue
        if not running:
            what = "Refused", "nothing to restart: the connector is stopped (spec.state)"
        elif action == "restart":
            everything = True
            what = "Succeeded", "the connector and all of its tasks are restarted"
        elif action == "restart-failed":
            failed = {t for t in tasks if persisted.task(t).has_ended}
            chosen |= failed
            what = "Succeeded", f"restarted: {_list(failed)}" if failed else "no task had failed"
        else:
            numbers, problem = _numbers(rest, tasks)
            chosen |= numbers
            what = ("Refused", problem) if problem else ("Succeeded", f"restarted: {_list(numbers)}")
        handled.append(HandledRequest(action, token, what[0], what[1], now))
    return RestartRequests(everything, frozenset() if everything else frozenset(chosen), tuple(handled))


def _numbers(text: str, tasks: Collection[int]) -> tuple[set[int], str]:
    parts = [p for p in re.split(r"[\s,]+", text) if p]
    wrong = [p for p in parts if not p.isdecimal() or int(p) not in tasks]
    if not parts or wrong:
        there = f"tasks are {_list(tasks)}" if tasks else "there is no task"
        what = f"{', '.join(wrong)[:_TOKEN_LENGTH]}: no such task" if wrong else "no task is named"
        return set(), f'{what}; write "<token> 0,2" ({there})'
    return {int(p) for p in parts}, ""


def _list(numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def kept_actions(
    annotations: Mapping[str, str], persisted: PersistedState, handled: Sequence[HandledRequest]
) -> tuple[HandledRequest, ...]:
    """Return the latest requests, in their order, for the status.

    Regardless of age, requests are kept while their token is in an annotation, which would otherwise request them again. So
    is the last restart of the connector, whose token is an input of its plan.
    """
    every = (*persisted.handled, *handled)
    last = last_restart(every)
    standing = {(action, restart_token(annotations, action)[0]) for action in RESTART_ACTIONS}
    others = [h for h in every if h is not last and (h.action, h.token) not in standing]
    gone = others[: max(0, len(every) - ACTIONS_KEPT)]
    return tuple(h for h in every if h not in gone)
