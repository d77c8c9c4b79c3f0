"""Changes of an edited Connector, without its secrets, and their effect on running tasks. Pure, but for loading plugins."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock_cli.migration.secret_texts import is_secret, secret_properties
from penstock_model.contracts.log_levels import LOG_LEVEL_ANNOTATION
from penstock_model.resources.task_settings import TaskSettings

__all__ = ["Change", "changes_of", "effect_of"]

_ABSENT: Final = "-"
_HIDDEN: Final = "[hidden]"
_PREFIX: Final = "penstock.dev/"
_ANNOTATIONS: Final = "annotations."
_LABELS: Final = "labels."
_PLANNED: Final = frozenset(
    ("config", "class", "version", *(field.alias or name for name, field in TaskSettings.model_fields.items()))
)
"""Fields whose change causes a new plan."""
_SELECTING: Final = frozenset(("topicCreationPolicyRef", "labels"))
"""Fields that select TopicCreationPolicies."""
_NO_SECRETS: Final = ("onSecretChange", "secretName")
_ALL_RESTART: Final = "all tasks restart"
_OF_ANNOTATIONS: Final = {
    "restart": _ALL_RESTART,
    "restart-failed": "failed tasks restart",
    "restart-tasks": "the tasks in the annotation restart",
    "list-offsets": "offsets are listed",
    "reset-offsets": "offsets are reset if the connector is stopped",
    "alter-offsets": "offsets are altered if the connector is stopped",
    "reset-topics": "active topics are reset",
}
"""Effects of a new value, by annotation without its prefix."""


class Change(NamedTuple):
    """Change of one field, with both values as text."""

    field: str
    before: str
    after: str


class _Leaf(NamedTuple):
    text: str
    is_hidden: bool = False


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return the changed fields of the spec, labels and `penstock.dev/` annotations, secret ones without their values.

    Args:
        before: the Connector.
        after: the Connector as edited.
    """
    old, new = dict(_leaves(before)), dict(_leaves(after))
    found: list[Change] = []
    for field in sorted(old.keys() | new.keys()):
        both = old.get(field), new.get(field)
        texts = [None if leaf is None else leaf.text for leaf in both]
        if texts[0] != texts[1]:
            is_hidden = any(leaf is not None and leaf.is_hidden for leaf in both)
            found.append(Change(field, *(_ABSENT if t is None else _HIDDEN if is_hidden else _shown(t) for t in texts)))
    return found


def effect_of(changes: Sequence[Change], before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return which tasks a change restarts, as documented in connectors.md, "Change a connector".

    Args:
        changes: from `changes_of`.
        before: the spec.
        after: the spec as edited.
    """
    fields = {c.field.partition(".")[0] for c in changes}
    state, was = after.get("state", "Running"), before.get("state", "Running")
    annotated = list(_of_annotations(changes, has_tasks=state != "Stopped"))
    effects = []
    if state == "Stopped":
        if was != state:
            effects.append("all tasks stop")
        elif fields - {"annotations"}:
            effects.append("no task runs; the configuration takes effect when the state changes")
        return "; ".join([*effects, *annotated]) or "no task runs"
    if was == "Stopped":
        effects.append("tasks start")
    elif "state" in fields:
        effects.append("tasks pause, without a restart" if state == "Paused" else "tasks resume, without a restart")
    if "tasksMax" in fields:
        effects.append("all tasks restart, if the plugin returns a different number of tasks")
    if "autoscaling" in fields:
        effects.append("all tasks restart, if their number is not within the limits")
    if fields & _PLANNED:
        effects.append("tasks whose configuration changes are replaced after validation; if it fails, all keep running")
    if fields & _SELECTING:
        effects.append("tasks are replaced one by one, if the rules change")
    if "template" in fields:
        effects.append("tasks are replaced with the new pod template")
    return "; ".join([*effects, *annotated]) or "no task restarts"


def _of_annotations(changes: Sequence[Change], *, has_tasks: bool) -> Iterator[str]:
    for change in changes:
        name = change.field.removeprefix(_ANNOTATIONS)
        if name == LOG_LEVEL_ANNOTATION:
            yield "the log level changes, without a restart"
        elif change.after != _ABSENT and name != change.field and (has_tasks or "restart" not in name):
            effect = _OF_ANNOTATIONS.get(name.removeprefix(_PREFIX))
            yield from () if effect is None else (effect,)


def _leaves(connector: Mapping[str, Any]) -> Iterator[tuple[str, _Leaf]]:
    spec = connector["spec"]
    # As Penstock compares them: a number and its text are equal.
    config = {name: _text(value) for name, value in (spec.get("config") or {}).items()}
    secret = secret_properties(spec["class"], config)
    yield from ((f"config.{name}", _Leaf(text, name in secret)) for name, text in config.items())
    for field, value in spec.items():
        if field != "config":
            yield from _parts(field, field, value)
    for name, value in (connector["metadata"].get("annotations") or {}).items():
        if name.startswith(_PREFIX):
            yield f"{_ANNOTATIONS}{name}", _Leaf(value, is_secret("", value))
    for name, value in (connector["metadata"].get("labels") or {}).items():
        yield f"{_LABELS}{name}", _Leaf(value, is_secret(name, value))


def _parts(field: str, name: str, value: Any) -> Iterator[tuple[str, _Leaf]]:
    """Yield the leaves of a value, each with its field path.

    Whether a leaf is a secret depends on its value and on `name`, which in an entry of `env` is the variable's name.
    """
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _parts(f"{field}.{key}", name if key == "value" else key, part)
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        names = [item.get("mountPath", item.get("name")) for item in value]
        is_named = None not in names and len({*names}) == len(names)
        for key, item in zip(names if is_named else range(len(value)), value, strict=True):
            rest = {n: part for n, part in item.items() if part != key or n not in ("name", "mountPath")}
            yield from _parts(f"{field}.{key}", str(item.get("name", name)), rest or item)
    elif isinstance(value, list):
        # Hidden one by one, so that a changed option does not hide all.
        yield from ((f"{field}.{n}", leaf) for n, leaf in enumerate(_options(value)))
    else:
        text = _text(value)
        yield field, _Leaf(text, name not in _NO_SECRETS and is_secret(name, text))


def _options(values: Sequence[Any]) -> Iterator[_Leaf]:
    """Yield options of a command: `-Dpassword=x`, or `--password` and `x`."""
    previous = ""
    for each in map(_text, values):
        name, separator, value = each.partition("=")
        has_secret = bool(separator) and is_secret(name, value)
        yield _Leaf(each, has_secret or is_secret("", each) or (previous.startswith("-") and is_secret(previous, each)))
        previous = each


def _shown(text: str) -> str:
    """Shorten a long value, such as the JSON of `alter-offsets`."""
    return text if len(text) <= 200 else f"{text[:200]}..."


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
