"""Ports for servers that a test starts, ends and starts again."""

import random
import socket
from typing import Final

__all__ = ["free_port"]

_FIRST: Final = 10_000
_END: Final = 32_768
"""From here on Linux takes ports for outgoing connections: one of those may be in use when the server starts again."""


def free_port() -> int:
    """One on which nobody listens."""
    while True:
        port = random.randrange(_FIRST, _END)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
