"""Options of the web server."""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from penstock_web.source import Document

__all__ = ["Transform", "WebOptions"]

Transform = Callable[[Document, str], Awaitable[str]]
"""Callable that applies the transforms of a Connector to a record in JSON, and returns the result of each step as text.

It raises ConnectError with a message for the user.
"""


def _ignored(number: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class WebOptions:
    """Options of the web server.

    Attributes:
        host: address to listen on; None: all interfaces, IPv4 and IPv6.
        port: port to listen on; 0: any free one.
        listener: socket that listens already, used instead of `host` and `port`. It stays open when the server is closed.
        names: host names, in lower case, that requests may use, in addition to `localhost` and IP addresses.
        title: name of the program that runs the connectors, in the head of each page.
        is_cluster: whether the connectors run in pods, so that pages show pods and commands of `kubectl`.
        transform: shows what each step of a transform chain does to a record; None: the page shows the command instead.
        requires_user: answer only authenticated users; needs an `Access`.
        connections: maximum number of open connections; a further one replaces that of a client that keeps the server
            waiting, or is closed.
        streams: maximum number of pages with live updates; others are updated when they are loaded again.
        plot_step: seconds between the points of plots, and so between measurements of a task.
        answered: called with the status of each answer, when it begins.
        streaming: called with the number of open streams, when it changes.
    """

    host: str | None = "127.0.0.1"
    port: int = 0
    listener: socket.socket | None = None
    names: frozenset[str] = frozenset()
    title: str = "Penstock"
    is_cluster: bool = True
    transform: Transform | None = None
    requires_user: bool = False
    connections: int = 256
    streams: int = 128
    plot_step: float = 60.0
    answered: Callable[[int], None] = _ignored
    streaming: Callable[[int], None] = _ignored
