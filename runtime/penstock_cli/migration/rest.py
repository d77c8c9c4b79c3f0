"""Client of Kafka Connect's REST API: reads its connectors, with configurations and states, and its plugins."""

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from penstock.errors import ConfigError, ConnectError, Problem

__all__ = ["answers_of"]

_SECONDS: Final = 30.0
_LONGEST: Final = 120.0
"""Maximum seconds for a complete response."""
_MOST: Final = 256 << 20
"""Maximum bytes of a response."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Handler that follows no redirect: user and password are only for the worker that was named."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        """Return None, so that a redirect is an HTTP error."""


_opener: Final = urllib.request.build_opener(_NoRedirect)


def answers_of(url: str) -> tuple[str, Any, Any]:
    """Return the base URL, and the responses of `GET /connectors?expand=info&expand=status` and `GET /connector-plugins`.

    The last is None if the worker rejects that request: connectors can be read without it.

    Args:
        url: address of a worker. User and password in it are sent by basic authentication, and appear in no message.

    Raises:
        ConfigError: it is not an HTTP URL.
        ConnectError: the worker does not respond, or rejects the request.
    """
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or "@" in parts.path + parts.query + parts.fragment or not url.isprintable() or " " in url:
        raise ConfigError(
            Problem(
                "--connect-url",
                "is not a URL; write http://HOST:8083 or https://..., with / # ? @ : in a password as %2F %23 %3F %40 %3A",
            )
        )
    where = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    headers = {"Accept": "application/json"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    connectors = _answer(where, "/connectors?expand=info&expand=status", headers)
    try:
        return where, connectors, _answer(where, "/connector-plugins?connectorsOnly=false", headers)
    except _RefusedError:
        return where, connectors, None


class _RefusedError(ConnectError):
    """Raised when the worker responds with an HTTP error."""


def _answer(where: str, path: str, headers: Mapping[str, str]) -> Any:
    request = urllib.request.Request(f"{where}{path}", headers=dict(headers))  # noqa: S310 (HTTP)
    try:
        with _opener.open(request, timeout=_SECONDS) as answer:
            return json.loads(_read(answer))
    except urllib.error.HTTPError as e:
        with e:
            raise _RefusedError(
                f"cannot read Kafka Connect at {where}: it responds {e.code} {e.reason}; check --connect-url, and the user "
                "and password in it"
            ) from None
    except OSError as e:
        reason = getattr(e, "reason", None) or e
        raise ConnectError(f"cannot reach Kafka Connect at {where}: {reason}; check --connect-url") from None
    except (ValueError, HTTPException, RecursionError) as e:
        raise ConnectError(
            f"cannot read Kafka Connect at {where}: unexpected response: {e}; check --connect-url"
        ) from None


class _Answer(Protocol):
    def read1(self, size: int = ...) -> bytes: ...


def _read(answer: _Answer) -> bytes:
    end, data = time.monotonic() + _LONGEST, bytearray()
    while part := answer.read1(1 << 16):
        data += part
        if time.monotonic() > end or len(data) > _MOST:
            raise TimeoutError(f"its response has not ended after {len(data)} bytes")
    return bytes(data)
