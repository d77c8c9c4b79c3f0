"""Rows of the list of Connectors, recomputed only for those that have changed."""

from typing import NamedTuple

from penstock_web.console.connector_list import Row, row_of
from penstock_web.console.rendering import Renderer
from penstock_web.source import Document, Measurement, WebSource

__all__ = ["ListRows"]


class _Known(NamedTuple):
    document: Document
    latest: tuple[int, Measurement | None]
    row: Row
    html: str


class ListRows:
    """Rows of all Connectors, and their HTML."""

    def __init__(self, source: WebSource, render: Renderer) -> None:
        self._source = source
        self._render = render
        self._revision: int | None = None
        self._known: dict[tuple[str, str], _Known] = {}

    def rows(self) -> list[Row]:
        """Return the rows of all Connectors, up to date."""
        revision = self._source.revision()
        if revision != self._revision:
            self._revision = revision
            documents = {_key(document): document for document in self._source.connectors()}
            self._known = {key: self._current(key, document) for key, document in documents.items()}
        return [known.row for known in self._known.values()]

    def html(self, row: Row) -> str:
        """Return the HTML of a row."""
        return self._known[row.namespace, row.name].html

    def _current(self, key: tuple[str, str], document: Document) -> _Known:
        history = self._source.history(*key)
        latest = (len(history), history[-1] if history else None)
        known = self._known.get(key)
        if known is not None and known.latest == latest and _is_same(known.document, document):
            return known
        row = row_of(document, history)
        if known is not None and known.row == row:
            return known._replace(document=document, latest=latest)
        return _Known(document, latest, row, self._render("row.html", row=row))


def _key(document: Document) -> tuple[str, str]:
    own = document["metadata"]
    return str(own.get("namespace") or ""), str(own.get("name") or "")


def _is_same(one: Document, other: Document) -> bool:
    if one is other:
        return True
    ours, theirs = one["metadata"], other["metadata"]
    version = ours.get("resourceVersion")
    return version is not None and version == theirs.get("resourceVersion") and ours.get("uid") == theirs.get("uid")
