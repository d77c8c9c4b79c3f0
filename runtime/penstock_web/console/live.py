"""Parts of pages that change, and the streams that send changes to open pages (server-sent events)."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, NamedTuple

from penstock_web.source import WebSource

__all__ = ["Fragments", "Page", "Pages", "Snapshot", "events_of"]

_MOST_PAGES: Final = 64
_PAUSE: Final = 1.0
"""Seconds between two pushes to a page."""
_HEARTBEAT: Final = 20.0
"""Seconds after which a stream without changes sends a comment, so that proxies keep it open."""


class Snapshot(NamedTuple):
    """Current parts of a page.

    Attributes:
        parts: HTML by the id of the element.
        order: ids of the elements of a list, in order; empty: the page has no list.
    """

    parts: Mapping[str, str]
    order: tuple[str, ...] = ()


Page = Callable[[], Snapshot]
"""Callable that renders the parts of a page."""


class Fragments:
    """Parts of one page, each with the revision at which it changed last. All streams of the page share them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._revision = -1
        self._snapshot = Snapshot({})
        self._changed: dict[str, int] = {}
        self._reordered = -1

    def at(self, revision: int) -> Snapshot:
        """Return the parts at a revision, or at a later one that was requested before."""
        if revision > self._revision:
            self._revision = revision
            before, self._snapshot = self._snapshot, self._page()
            parts = self._snapshot.parts
            self._changed = {
                key: self._changed[key] if before.parts.get(key) == html else revision for key, html in parts.items()
            }
            if self._snapshot.order != before.order:
                self._reordered = revision
        return self._snapshot

    def since(self, seen: int) -> dict[str, object]:
        """Return the changes after a revision that a page has seen; empty: there are none."""
        changes: dict[str, object] = {}
        if parts := {key: self._snapshot.parts[key] for key, at in self._changed.items() if at > seen}:
            changes["parts"] = parts
        if self._reordered > seen:
            changes["order"] = self._snapshot.order
        return changes


class Pages:
    """Most recently shown pages, by path and query."""

    def __init__(self, source: WebSource) -> None:
        self._source = source
        self._pages: OrderedDict[str, Fragments] = OrderedDict()

    def get(self, key: str, page: Page) -> Fragments:
        """Return the parts of a page, up to date."""
        fragments = self._pages.setdefault(key, Fragments(page))
        self._pages.move_to_end(key)
        if len(self._pages) > _MOST_PAGES:
            self._pages.popitem(last=False)
        fragments.at(self._source.revision())
        return fragments


async def events_of(source: WebSource, fragments: Fragments, seen: int, boot: str) -> AsyncIterator[bytes]:
    """Yield the events of a stream: the changes after `seen`, then each further change, at most one a second."""
    while True:
        revision = source.revision()
        fragments.at(revision)
        if changes := fragments.since(seen):
            yield f"id: {boot}.{revision}\ndata: {json.dumps(changes, ensure_ascii=False)}\n\n".encode()
        seen = max(seen, revision)
        await asyncio.sleep(_PAUSE)
        try:
            async with asyncio.timeout(_HEARTBEAT):
                await source.changed(revision)
        except TimeoutError:
            yield b": waiting\n\n"
