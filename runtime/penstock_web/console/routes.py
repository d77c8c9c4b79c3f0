"""Routes of the console: pages, their streams, and parts that are loaded later."""

import asyncio
import gzip
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from penstock.errors import ConnectError
from penstock_web.access import Access
from penstock_web.console.action_routes import ActionRoutes
from penstock_web.console.chain_view import config_view
from penstock_web.console.connector_list import Filter
from penstock_web.console.live import Fragments, Page, Pages, events_of
from penstock_web.console.offsets_view import MOST_OFFSETS, offset_rows
from penstock_web.console.pages import ConsolePages
from penstock_web.console.rendering import Renderer
from penstock_web.console.static_files import StaticFiles
from penstock_web.console.streams import NoPlace, Streams
from penstock_web.options import WebOptions
from penstock_web.plugin_knowledge import knowledge_of
from penstock_web.shown_config import shown_config
from penstock_web.source import Document, WebSource

__all__ = ["routes"]

_MOST_QUERY: Final = 200
_LEVEL: Final = 1
"""Compression level. A page with 1,000 Connectors takes 1 ms and 13 KB; higher levels hardly reduce its size."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_CONNECTOR: Final = "/connectors/{namespace}/{name}"


def routes(source: WebSource, options: WebOptions, access: Access | None) -> list[web.RouteDef]:
    """Return the console's routes."""
    console = _Console(source, options, access)
    actions = ActionRoutes(source, options, access, console.render)
    return [
        web.get("/", console.connectors),
        web.get("/stream", console.connectors_stream),
        web.get("/plugins", console.plugins),
        web.get("/plugins/stream", console.plugins_stream),
        web.get("/policies", console.policies),
        web.get("/policies/stream", console.policies_stream),
        web.get(_CONNECTOR, console.connector),
        web.get(f"{_CONNECTOR}/stream", console.connector_stream),
        web.get(f"{_CONNECTOR}/config", console.config),
        web.get(f"{_CONNECTOR}/events", console.events),
        web.get(f"{_CONNECTOR}/offsets", console.offsets),
        web.get(f"{_CONNECTOR}/actions", actions.forms),
        web.post(f"{_CONNECTOR}/actions/{{action}}", actions.act),
        web.post(f"{_CONNECTOR}/offsets/preview", actions.preview),
        web.post(f"{_CONNECTOR}/transform", actions.transform),
        web.get("/static/{digest}/{name}", console.files.get),
    ]


class _Console:
    """Handlers of requests for pages, streams and parts."""

    def __init__(self, source: WebSource, options: WebOptions, access: Access | None) -> None:
        self.files = StaticFiles()
        self._boot = secrets.token_hex(4)
        self.render = Renderer(self.files, options.title, is_cluster=options.is_cluster)
        self._source = source
        self._options = options
        self._access = access
        self._content = ConsolePages(source, self.render, options.plot_step)
        self._pages = Pages(source)
        self._streams = Streams(options.streams, options.streaming)

    async def connectors(self, request: web.Request) -> web.Response:
        wanted = _filter(request)
        namespaces = sorted({str(d["metadata"].get("namespace") or "") for d in self._source.connectors()})
        return self._page(
            request,
            "connectors.html",
            lambda: self._content.connectors(wanted),
            here="/",
            filter=wanted,
            namespaces=namespaces,
        )

    async def connectors_stream(self, request: web.Request) -> web.StreamResponse:
        wanted = _filter(request)
        return await self._stream(request, lambda: self._content.connectors(wanted))

    async def connector(self, request: web.Request) -> web.Response:
        namespace, name = _names(request)
        response = self._page(
            request,
            "connector.html",
            lambda: self._content.connector(namespace, name),
            here="/",
            namespace=namespace,
            name=name,
        )
        if self._source.connector(namespace, name) is None:
            response.set_status(404)
        return response

    async def connector_stream(self, request: web.Request) -> web.StreamResponse:
        namespace, name = _names(request)
        return await self._stream(request, lambda: self._content.connector(namespace, name))

    async def plugins(self, request: web.Request) -> web.Response:
        return self._page(request, "plugins.html", self._content.plugins, here="/plugins")

    async def plugins_stream(self, request: web.Request) -> web.StreamResponse:
        return await self._stream(request, self._content.plugins)

    async def policies(self, request: web.Request) -> web.Response:
        topic, connector = _text(request, "topic"), _text(request, "connector")
        own = (d["metadata"] for d in self._source.connectors())
        names = sorted(f"{m.get('namespace', '')}/{m.get('name', '')}" for m in own)
        return self._page(
            request,
            "policies.html",
            lambda: self._content.policies(topic, connector),
            here="/policies",
            topic=topic,
            connector=connector,
            names=names,
        )

    async def policies_stream(self, request: web.Request) -> web.StreamResponse:
        topic, connector = _text(request, "topic"), _text(request, "connector")
        return await self._stream(request, lambda: self._content.policies(topic, connector))

    async def config(self, request: web.Request) -> web.Response:
        document = self._document(request)
        namespace, name = _names(request)
        view = await asyncio.to_thread(lambda: config_view(self._shown_config(document)))
        return self._part(
            request, "config.html", view=view, namespace=namespace, name=name, can_try=self._options.transform
        )

    async def events(self, request: web.Request) -> web.Response:
        self._document(request)
        try:
            return self._part(request, "events.html", events=await self._source.events(*_names(request)), error="")
        except ConnectError as e:
            return self._part(request, "events.html", events=(), error=str(e))

    async def offsets(self, request: web.Request) -> web.Response:
        self._document(request)
        namespace, name = _names(request)
        values: dict[str, Any] = {"rows": None, "more": 0, "error": "", "namespace": namespace, "name": name}
        try:
            listed = await self._source.offsets(namespace, name)
        except ConnectError as e:
            listed, values["error"] = None, str(e)
        if listed is not None:
            rows = offset_rows(listed)
            values |= {"rows": rows[:MOST_OFFSETS], "more": max(0, len(rows) - MOST_OFFSETS)}
        return self._part(request, "offsets.html", can_act=self._access is not None, **values)

    def _shown_config(self, document: Document) -> Mapping[str, str]:
        """Return the configuration without secrets. May block."""
        knowledge = knowledge_of(self._source, str(document["metadata"].get("namespace") or ""))
        return shown_config(document, knowledge, self._source.worker())

    def _document(self, request: web.Request) -> Document:
        document = self._source.connector(*_names(request))
        if document is None:
            raise web.HTTPNotFound(text="there is no such Connector\n")
        return document

    def _fragments(self, request: web.Request, page: Page) -> Fragments:
        query = sorted((name, value) for name, value in request.query.items() if name != "seen")
        return self._pages.get(f"{request.path.removesuffix('/stream') or '/'}?{urlencode(query)}", page)

    def _page(self, request: web.Request, template: str, page: Page, **values: Any) -> web.Response:
        fragments = self._fragments(request, page)
        revision = self._source.revision()
        snapshot = fragments.at(revision)
        query = f"?{request.query_string}" if request.query_string else ""
        text = self.render(
            template,
            parts=snapshot.parts,
            order=snapshot.order,
            seen=f"{self._boot}.{revision}",
            query_string=query,
            **values,
        )
        return _html(request, text)

    def _part(self, request: web.Request, template: str, **values: Any) -> web.Response:
        return _html(request, self.render(template, **values))

    async def _stream(self, request: web.Request, page: Page) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",  # nginx would buffer events
            }
        )
        client = await self._client(request)
        try:
            async with self._streams.place(client):
                await response.prepare(request)
                fragments = self._fragments(request, page)
                async for event in events_of(self._source, fragments, self._seen(request), self._boot):
                    await response.write(event)
        except NoPlace:
            raise web.HTTPServiceUnavailable(
                text="too many pages are open; close some\n", headers={"Retry-After": "60"}
            ) from None
        return response

    async def _client(self, request: web.Request) -> str:
        """Return the sender of a request: a user, or an address, which users behind a proxy share."""
        with suppress(ConnectError):
            user = None if self._access is None else await self._access.user(request.headers)
            if user is not None:
                return f"user {user.name}"
        return f"address {request.remote}"

    def _seen(self, request: web.Request) -> int:
        """Return the revision that a page shows; -1: it is from another run of this server, or unknown."""
        text = request.headers.get("Last-Event-ID") or request.query.get("seen", "")
        boot, _, revision = text.partition(".")
        return int(revision) if boot == self._boot and _NUMBER.fullmatch(revision) else -1


def _html(request: web.Request, text: str) -> web.Response:
    """Return a page, compressed if the client accepts it.

    aiohttp's own compression would keep the text, too, until the client has read the answer.
    """
    body, headers = text.encode(), {"Cache-Control": "no-store"}
    if "gzip" in request.headers.get("Accept-Encoding", "").lower():
        body, headers["Content-Encoding"] = gzip.compress(body, _LEVEL), "gzip"
    return web.Response(body=body, content_type="text/html", charset="utf-8", headers=headers)


def _names(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["name"]


def _text(request: web.Request, name: str) -> str:
    return request.query.get(name, "")[:_MOST_QUERY].strip()


def _filter(request: web.Request) -> Filter:
    return Filter(_text(request, "namespace"), _text(request, "state"), _text(request, "text"))
