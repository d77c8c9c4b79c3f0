"""HTTP server on all interfaces, of IPv6 and IPv4."""

import socket
import socketserver
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["DualStackServer"]


class DualStackServer(ThreadingHTTPServer):
    """HTTP server with a thread for each connection.

    Args:
        port: to listen on; 0: any free one.
        handler: handles requests.

    Raises:
        OSError: the port is taken.
    """

    daemon_threads = True
    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("::" if self.address_family == socket.AF_INET6 else "", port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)  # HTTPServer's looks this machine's name up in DNS
        self.server_name, self.server_port = socket.gethostname(), int(self.server_address[1])
