"""List of Connectors: columns, the order, and the filter. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock_web.console.health import Health, Tone, health_of
from penstock_web.console.measurements import figures_of
from penstock_web.console.numbers_text import compact, rate_text
from penstock_web.source import Measurement

__all__ = ["MOST_ROWS", "Filter", "ListView", "Row", "list_view", "row_of"]

MOST_ROWS: Final = 1_000
"""Maximum number of rows on a page. A longer list has a note that asks for a narrower filter."""
_MOST_CAUSE: Final = 300


class Row(NamedTuple):
    """One Connector in the list. `key` identifies its row in the page."""

    key: str
    namespace: str
    name: str
    plugin: str
    kind: str
    version: str
    health: Health
    cause: str
    wanted: str
    tasks: str
    rate: str
    lag: str
    last_record: str
    words: str


class Filter(NamedTuple):
    """Filter of the list; empty strings match everything.

    Attributes:
        namespace: a namespace.
        state: a label of `Health`.
        text: words, all of which must occur in name, namespace, plugin or cause.
    """

    namespace: str = ""
    state: str = ""
    text: str = ""

    def matches(self, row: Row) -> bool:
        """Return whether the filter selects a row."""
        return (
            self.namespace in ("", row.namespace)
            and self.state in ("", row.health.label)
            and all(word in row.words for word in self.text.lower().split())
        )


class Count(NamedTuple):
    """Number of Connectors in a state."""

    label: str
    tone: Tone
    number: int


class ListView(NamedTuple):
    """Rows that the filter selects, at most `MOST_ROWS`, and the number of all that it selects.

    Attributes:
        counts: numbers by state, for the namespace and the words of the filter.
        namespaces: all namespaces.
    """

    rows: Sequence[Row]
    found: int
    total: int
    counts: Sequence[Count]
    namespaces: Sequence[str]
    filter: Filter


def row_of(connector: Mapping[str, Any], history: Sequence[Measurement]) -> Row:
    """Return the row of a Connector."""
    own, spec, status = connector["metadata"], connector.get("spec") or {}, connector.get("status") or {}
    plugin = status.get("connector") or {}
    namespace, name = str(own.get("namespace") or ""), str(own.get("name") or "")
    class_name = str(plugin.get("class") or spec.get("class") or "")
    health, figures = health_of(connector), figures_of(history)
    cause = " ".join(health.cause.split())
    return Row(
        key=f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        plugin=class_name.rpartition(".")[2],
        kind=str(plugin.get("type") or ""),
        version=str(plugin.get("version") or ""),
        health=health,
        cause=cause if len(cause) <= _MOST_CAUSE else f"{cause[:_MOST_CAUSE]}…",
        wanted=str(spec.get("state") or "Running"),
        tasks=str(status.get("taskSummary") or ""),
        rate="" if figures.records_per_second is None else rate_text(figures.records_per_second),
        lag="" if figures.lag is None else compact(figures.lag),
        last_record=str(status.get("lastRecordTime") or ""),
        words=f"{namespace}/{name} {class_name} {cause}".lower(),
    )


def list_view(rows: Iterable[Row], wanted: Filter) -> ListView:
    """Return the list for a filter: at most `MOST_ROWS` rows, the most urgent first, then by namespace and name."""
    known = sorted(rows, key=lambda row: (row.health.rank, row.namespace, row.name))
    others = wanted._replace(state="")
    counted = Counter(row.health[:3] for row in known if others.matches(row))
    found = [row for row in known if wanted.matches(row)]
    return ListView(
        rows=found[:MOST_ROWS],
        found=len(found),
        total=len(known),
        counts=[Count(label, tone, number) for (_, label, tone), number in sorted(counted.items())],
        namespaces=sorted({row.namespace for row in known}),
        filter=wanted,
    )
