"""Summary table of an import: connectors that run, that need a plugin, and that were changed. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_cli.migration.known_plugins import KnownPlugin
from penstock_cli.migration.manifest import Imported
from penstock_runtime.plugins.java_projects import DEBEZIUM, project_of

__all__ = ["Refused", "Row", "lines", "row"]

_WIDTH: Final = 120
_NAME: Final = 36
_MOST: Final = 3
"""Maximum number of changed properties in a row."""


@dataclass(frozen=True)
class Refused:
    """Connector that has no manifest, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Row:
    """Connector in the table.

    Attributes:
        name: its name in Kafka Connect.
        runs: `yes`, `plugin` (after a plugin is added), `no`, or `none` (no manifest).
        why: plugins that it needs, or reasons why it cannot run.
        changed: its changes, in a few words.
    """

    name: str
    runs: str
    why: str = ""
    changed: str = ""


def row(one: Imported, *, is_brought: bool) -> Row:
    """Return the row of a connector.

    Args:
        one: the connector with its manifest.
        is_brought: a PluginVersion among the manifests provides its plugins.
    """
    if one.problems:
        runs, why = "no", "; ".join(p.property or p.message for p in one.problems)
    elif one.needs:
        runs, why = "yes" if is_brought else "plugin", ", ".join(_projects(one.needs))
    else:
        runs, why = "yes", ""
    return Row(one.label, runs, why, ", ".join(_changes(one)))


def lines(rows: Sequence[Row], refused: Sequence[Refused]) -> Iterator[str]:
    """Yield the lines of the table, its totals last."""
    every = [*rows, *(Row(r.name, "none", r.reason) for r in refused)]
    width = min(max((len(r.name) for r in every), default=0), _NAME)
    why = max(min(max((len(r.why) for r in every), default=0), 46), len("NEEDS OR LACKS"))
    yield f"{'CONNECTOR':{width}}  RUNS    {'NEEDS OR LACKS':{why}}  CHANGED"
    for r in every:
        text = f"{_cut(r.name, width):{width}}  {r.runs:6}  {_cut(r.why, why):{why}}  {r.changed}"
        yield _cut(text.rstrip(), _WIDTH)
    counts = [(sum(r.runs == kind for r in every), words) for kind, words in _TOTALS.items()]
    yield f"{len(every)} connectors: {', '.join(f'{n} {words}' for n, words in counts if n)}"


_TOTALS: Final = {
    "yes": "can run",
    "plugin": "need a plugin first",
    "no": "cannot run as they are",
    "none": "have no manifest",
}


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _projects(needs: Iterable[KnownPlugin]) -> list[str]:
    """Return the names of the plugins; Debezium's own classes come with any of its connectors."""
    named = [p.name if (p := project_of(n.class_name)) else n.class_name for n in needs]
    names = list(dict.fromkeys(named))
    return [n for n in names if n != DEBEZIUM or not any(o.startswith(f"{DEBEZIUM} for ") for o in names)]


def _changes(one: Imported) -> Iterator[str]:
    secrets = sum(len(keys) for keys in one.secrets.values())
    if secrets:
        yield f"{secrets} secret{'s' if secrets > 1 else ''}"
    taken = {key for keys in one.secrets.values() for key in keys}
    others = [
        c.property.removeprefix("spec.config.") for c in one.changes if not c.message.startswith("may be a secret")
    ]
    others = [name for name in others if name not in taken]
    yield from others[:_MOST]
    if len(others) > _MOST:
        yield f"{len(others) - _MOST} more"
