"""Web server of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from penstock_web.access import Access
from penstock_web.options import WebOptions
from penstock_web.server import WebServer
from penstock_web.source import WebSource

__all__ = ["served"]


@contextmanager
def served(source: WebSource, options: WebOptions | None = None, access: Access | None = None) -> Iterator[WebServer]:
    """Serve resources until the block ends."""
    server = WebServer(source, options or WebOptions(), access)
    server.start()
    try:
        yield server
    finally:
        server.close()
