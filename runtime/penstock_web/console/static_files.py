"""Script, styles and icon of the console, in memory. Their addresses change with their contents."""

import hashlib
from importlib.resources import files
from typing import Final, NamedTuple

from aiohttp import web

__all__ = ["StaticFiles"]

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOREVER: Final = "public, max-age=31536000, immutable"


class _File(NamedTuple):
    content: bytes
    type: str
    digest: str


class StaticFiles:
    """Files of the folder `static`."""

    def __init__(self) -> None:
        self._files = {
            entry.name: _File(content := entry.read_bytes(), _TYPES[entry.name.rpartition(".")[2]], _digest(content))
            for entry in files("penstock_web.console").joinpath("static").iterdir()
            if entry.name.rpartition(".")[2] in _TYPES
        }

    def url(self, name: str) -> str:
        """Return the address of a file."""
        return f"/static/{self._files[name].digest}/{name}"

    async def get(self, request: web.Request) -> web.Response:
        """Answer with a file, whatever version the address names: a page may be older than this server."""
        file = self._files.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound(text="there is no such file\n")
        is_current = request.match_info["digest"] == file.digest
        response = web.Response(body=file.content, content_type=file.type, charset="utf-8")
        response.headers["Cache-Control"] = _FOREVER if is_current else "no-cache"
        response.enable_compression()
        return response


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
