"""HTTP server on all IPv6 and IPv4 interfaces."""

import logging
import socket
import socketserver
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["DualStackServer"]

log = logging.getLogger(__name__)


class DualStackServer(ThreadingHTTPServer):
    """HTTP server with a thread for each connection.

    Args:
        port: port to listen on; 0: any free port.
        handler: handles requests.

    Raises:
        OSError: the port is in use.
    """

    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("::" if self.address_family == socket.AF_INET6 else "", port), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error of a handler, unless the client closed its connection early."""
        error = sys.exception()
        if isinstance(error, ConnectionError):
            log.debug("%s closed its connection before it received the response", client_address[0])
        else:
            log.error("Cannot answer a request from %s", client_address[0], exc_info=error)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)  # that of HTTPServer looks up this machine's name in DNS
        self.server_name, self.server_port = socket.gethostname(), int(self.server_address[1])
