"""Protection of the web server: headers of answers, and requests that are refused before they reach a handler."""

import asyncio
import ipaddress
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from penstock_web.connections import Connections
from penstock_web.options import WebOptions

__all__ = ["CONSOLE_HEADER", "HEADERS", "middleware", "refusal"]

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
"""Time for an answer, without the stream of a live page."""
_WITHOUT_HEADER: Final = "/connect/"
"""Path of Kafka Connect's REST API, whose clients send no header of the console."""
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def middleware(options: WebOptions, connections: Connections) -> Middleware:
    """Return a middleware that refuses forged requests, limits the time of the others, and adds headers to answers."""

    @web.middleware
    async def protect(request: web.Request, handler: Handler) -> web.StreamResponse:
        connections.has_asked(request)
        if (cause := refusal(request, options)) is not None:
            return web.Response(status=403, text=f"{cause}\n")
        try:
            async with asyncio.timeout(None if request.path.endswith("/stream") else _SECONDS):
                return await handler(request)
        except TimeoutError:
            return web.Response(status=504, text=f"the answer took longer than {_SECONDS:.0f} s; try again\n")

    return protect


def refusal(request: web.Request, options: WebOptions) -> str | None:
    """Return why a request is refused; None: it is not."""
    if _is_loopback(options.host) and _name(request.host) not in _LOOPBACK_NAMES:
        return f"this console listens on {options.host} and answers requests for localhost only"
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


def _name(host: str) -> str:
    """Return the name of a Host header without the port."""
    return (urlsplit(f"//{host}").hostname or "").lower()


def _is_loopback(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
