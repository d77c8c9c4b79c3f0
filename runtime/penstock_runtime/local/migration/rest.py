"""Asks Kafka Connect's REST API for its connectors, with their configurations and states."""

import base64
import json
import urllib.error
import urllib.request
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from penstock.errors import ConfigError, ConnectError, Problem

__all__ = ["connectors_of"]

_SECONDS: Final = 30.0
_MOST: Final = 256 << 20
"""Bytes of an answer."""


def connectors_of(url: str) -> tuple[str, Any]:
    """Where the answer is from, and the answer of `GET /connectors?expand=info&expand=status`.

    Args:
        url: of a worker. User and password in it are sent by basic authentication, and told in no message.

    Raises:
        ConfigError: it is no URL of HTTP.
        ConnectError: the worker does not answer, or refuses.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(Problem("--connect-url", "is no URL: write http://HOST:8083, or https://..."))
    where = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    headers = {"Accept": "application/json"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    request = urllib.request.Request(f"{where}/connectors?expand=info&expand=status", headers=headers)  # noqa: S310 (HTTP)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
            return where, json.loads(answer.read(_MOST))
    except urllib.error.HTTPError as e:
        with e:
            raise ConnectError(f"Kafka Connect at {where} refuses with {e.code} {e.reason}") from None
    except (OSError, ValueError) as e:
        reason = getattr(e, "reason", None) or e
        raise ConnectError(f"Kafka Connect at {where} does not answer as it should: {reason}") from None
