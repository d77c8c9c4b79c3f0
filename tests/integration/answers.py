"""Answers of web servers on this machine."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping

__all__ = ["ask"]


def ask(port: int, path: str = "/", method: str = "GET", headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Status and body of an answer; 0: there is none."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read().decode()
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return 0, ""
