"""The log of the operator has no traceback because a client closed its connection."""

import logging
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from penstock_operator.dual_stack import DualStackServer


@pytest.mark.parametrize(("error", "level"), [(BrokenPipeError(), "DEBUG"), (ValueError("a fault"), "ERROR")])
def test_only_faults_of_a_handler_are_errors(caplog: pytest.LogCaptureFixture, error: Exception, level: str) -> None:
    caplog.set_level(logging.DEBUG, "penstock_operator.dual_stack")

    class Handler(BaseHTTPRequestHandler):
        def handle(self) -> None:
            raise error

    server = DualStackServer(0, Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", server.server_address[1])) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.settimeout(10)
            assert client.recv(1) == b""  # the handler has ended
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert [r.levelname for r in caplog.records] == [level]
    assert ("ValueError" in caplog.text) == (level == "ERROR")
