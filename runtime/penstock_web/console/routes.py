"""Routes of the console."""

from aiohttp import web

from penstock_web.access import Access
from penstock_web.options import WebOptions
from penstock_web.source import WebSource

__all__ = ["routes"]


def routes(source: WebSource, options: WebOptions, access: Access | None) -> list[web.RouteDef]:
    """Return the console's routes."""

    async def connectors(_: web.Request) -> web.Response:
        names = sorted(f"{d['metadata']['namespace']}/{d['metadata']['name']}" for d in source.connectors())
        return web.Response(text="".join(f"{name}\n" for name in names))

    return [web.get("/", connectors)]
