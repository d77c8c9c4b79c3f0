"""The session that kopf watches with, before an API server whose certificate changes."""

import asyncio
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import aiohttp
import pytest
from kubernetes.client.configuration import Configuration

from penstock_operator.kubernetes.api_server import ApiServer
from penstock_operator.kubernetes.watch_health import WatchHealth
from penstock_operator.kubernetes.watch_session import open_session


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    made, key = folder / f"{name}.crt", folder / f"{name}.key"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -addext subjectAltName=IP:127.0.0.1"
    words = (*command.split(), "-keyout", str(key), "-out", str(made))
    subprocess.run(words, check=True, capture_output=True)
    return made, key


class Rotating:
    """A server over TLS; `present` changes the certificate that the next connection sees."""

    def __init__(self, made: Path, key: Path) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                self.close_connection = True

            def log_message(self, *args: object) -> None: ...

        self.present(made, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        accept = self._server.get_request

        def get_request() -> tuple[ssl.SSLSocket, object]:
            plain, address = accept()
            try:
                return self._context.wrap_socket(plain, server_side=True), address
            except OSError:  # the client does not trust us
                plain.close()
                raise

        self._server.get_request = get_request  # type: ignore[method-assign]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"

    def present(self, made: Path, key: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(made, key)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_new_authority_of_the_cluster_is_trusted_once_the_file_names_it(tmp_path: Path) -> None:
    """kopf asks in one session for as long as it lives; with the authority of its start it would be deaf for ever."""
    ca, old, new = tmp_path / "ca.crt", certificate(tmp_path, "old"), certificate(tmp_path, "new")
    ca.write_bytes(old[0].read_bytes())
    server = Rotating(*old)
    configuration = Configuration()
    configuration.host, configuration.ssl_ca_cert = server.url, str(ca)
    api = ApiServer(configuration)

    async def ask() -> None:
        async with open_session(api, WatchHealth([]), set()) as session:

            async def status() -> int:
                async with session.get(f"{server.url}/api/v1/pods") as response:
                    return response.status

            assert await status() == 200
            server.present(*new)
            with pytest.raises(aiohttp.ClientSSLError):
                await status()
            ca.write_bytes(new[0].read_bytes())
            with pytest.raises(aiohttp.ClientSSLError):
                await status()
            assert await status() == 200

    try:
        asyncio.run(ask())
    finally:
        server.close()
        api.close()
