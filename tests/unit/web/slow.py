"""Client that keeps a server waiting."""

import select
import socket

__all__ = ["Slow", "request"]


def request(path: str, *headers: str, method: str = "GET") -> bytes:
    """Return a request without a body."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


class Slow:
    """Connection that sends some bytes, and reads only what a test asks for."""

    def __init__(self, port: int, sent: bytes = b"") -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(60)
        try:
            self.socket.connect(("127.0.0.1", port))
            self.socket.sendall(sent)
        except OSError:
            self.socket.close()
            raise

    def until_answered(self) -> None:
        """Wait for the beginning of an answer, and leave it where it is."""
        assert self.socket.recv(1, socket.MSG_PEEK)

    def until_reset(self) -> None:
        """Wait until the server has reset the connection."""
        assert self._poll(60_000), "the server keeps the connection"

    def is_reset(self) -> bool:
        return self._poll(0)

    def read(self) -> bytes:
        """Read everything until the server closes the connection."""
        pieces = []
        while piece := self.socket.recv(1 << 16):
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        self.socket.close()

    def _poll(self, milliseconds: int) -> bool:
        poll = select.poll()
        poll.register(self.socket, 0)  # only an error, or the end of both directions
        return bool(poll.poll(milliseconds))
