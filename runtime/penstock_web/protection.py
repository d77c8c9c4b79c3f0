"""Protection of the web server: headers of answers, and requests that are rejected before they reach a handler."""

import asyncio
import ipaddress
import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from penstock_web.connections import Connections
from penstock_web.options import WebOptions

__all__ = ["CONSOLE_HEADER", "HEADERS", "is_own_host", "middleware", "refusal"]

CONSOLE_HEADER: Final = "X-Penstock-Console"
"""Header that the console's script sends with each action. A form of another site cannot send it."""

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SAFE: Final = frozenset({"GET", "HEAD"})
_SECONDS: Final = 30.0
"""Seconds for an answer, except for the stream of a live page."""
_HOST: Final = re.compile(r"(\[(?P<ip>[0-9a-fA-F:.]+)\]|(?P<name>[\w.-]+))(:[0-9]*)?", re.ASCII)
_WITHOUT_HEADER: Final = "/connect/"
"""Path of Kafka Connect's REST API, whose clients send no header of the console."""


def middleware(options: WebOptions, connections: Connections) -> Middleware:
    """Return a middleware that rejects forged requests and other hosts, limits the time of an answer, and adds headers."""

    @web.middleware
    async def protect(request: web.Request, handler: Handler) -> web.StreamResponse:
        with connections.answering(request):
            await connections.turn()
            return await answered(request, handler)

    async def answered(request: web.Request, handler: Handler) -> web.StreamResponse:
        if (host := request.headers.get("Host")) is not None and not is_own_host(host, options.names):
            setting = "add it to console.hosts of the chart, or use" if options.is_cluster else "use"
            text = f"this console does not answer requests for this host name; {setting} localhost or an IP address\n"
            return web.Response(status=HTTPStatus.MISDIRECTED_REQUEST, text=text)
        if (cause := refusal(request)) is not None:
            return web.Response(status=403, text=f"{cause}\n")
        try:
            async with asyncio.timeout(None if request.path.endswith("/stream") else _SECONDS):
                return await handler(request)
        except TimeoutError:
            return web.Response(status=504, text=f"the answer took longer than {_SECONDS:.0f} s; try again\n")

    return protect


def is_own_host(host: str, names: Collection[str]) -> bool:
    """Return whether a console answers requests with this header `Host`.

    A page of another site could read a console by DNS rebinding: its host name is made to resolve to the console's address.
    The browser then sends that name. A header with an address does not come from such a page.

    Args:
        host: header `Host`, with or without a port.
        names: names of the console in lower case, in addition to `localhost`.
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = (match["name"] or "").lower().removesuffix(".")
    if name == "localhost" or name in names:
        return True
    try:
        ipaddress.ip_address(match["ip"] or name)
    except ValueError:
        return False
    return True


def refusal(request: web.Request) -> str | None:
    """Return the reason why a page of another site could have forged a request; None: it could not."""
    if request.method in _SAFE:
        return None
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return "a page of another site sent this request"
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.host:
        return "a page of another site sent this request, or a proxy changed the header Host"
    if not request.path.startswith(_WITHOUT_HEADER) and CONSOLE_HEADER not in request.headers:
        return f"the request has no header {CONSOLE_HEADER}"
    return None
