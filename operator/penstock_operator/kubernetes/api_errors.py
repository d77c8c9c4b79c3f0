"""Convert error responses of the API server to the operator's exceptions. Pure.

`connector/model/api_failures` maps these errors to the reasons shown in the status.

Source: k8s.io/apimachinery `metav1.Status` and its `StatusReason`s.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock_operator.errors import Conflict, NoSuchKind, NotYet, OperatorError, Refused, Unavailable

__all__ = ["Answer", "error_of", "status_of"]

_SENTENCE_LENGTH: Final = 2_000  # the server may return megabytes about an invalid object
_RETRY_AFTER: Final = 1.0  # seconds, if the server does not specify it
_SERVER_ERRORS: Final = frozenset((408, 500, 502, 503, 504))


class Answer(NamedTuple):
    code: int
    headers: Mapping[str, str]
    body: bytes


def status_of(answer: Answer) -> Mapping[str, Any]:
    """Return the `Status` in an answer; empty: there is none (a proxy answered, or the kind does not exist)."""
    try:
        status = json.loads(answer.body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) and status.get("kind") == "Status" else {}


def error_of(answer: Answer, doing: str) -> OperatorError:
    """Return the exception for an error response.

    Args:
        answer: response with a status code of 300 or more.
        doing: prefix of the message, such as "Creating Pod shop/orders-0-1".
    """
    status = status_of(answer)
    reason = str(status.get("reason", ""))
    text = _sentence(answer, status)
    retry_after = _retry_after(answer, status)
    match answer.code:
        case 409:
            return Conflict(f"{doing}: {text}")
        case 429:
            return NotYet(f"{doing}: the API server is busy: {text}", retry_after or _RETRY_AFTER)
        case 401:
            return Unavailable(f"{doing}: the API server does not accept the operator's credentials: {text}")
        case 404 if not status:
            return NoSuchKind(
                f"{doing}: the API server does not serve this kind of object; install the CRDs of this release"
            )
        case 410:
            return Unavailable(f"{doing}: {text}")
        case code if code in _SERVER_ERRORS or code >= 500 or code < 400:
            return Unavailable(f"{doing}: {text}", retry_after)
        case code:
            causes = (status.get("details") or {}).get("causes") or ()
            return Refused(
                doing,
                answer=text,
                status=code,
                reason=reason,
                causes=frozenset(str(c.get("reason", "")) for c in causes),
                fields=tuple((str(c["field"]), str(c.get("message", ""))) for c in causes if c.get("field")),
            )


def _sentence(answer: Answer, status: Mapping[str, Any]) -> str:
    text = str(status.get("message") or "") or answer.body.decode("utf-8", "replace").strip()
    text = text or f"HTTP status {answer.code}"
    return text if len(text) <= _SENTENCE_LENGTH else text[:_SENTENCE_LENGTH] + "..."


def _retry_after(answer: Answer, status: Mapping[str, Any]) -> float | None:
    """Return the seconds to wait before a retry. HTTP also allows a date, which the API server never sends."""
    given = next((v for k, v in answer.headers.items() if k.lower() == "retry-after"), None)
    if given is None:
        given = (status.get("details") or {}).get("retryAfterSeconds")
    try:
        return max(0.0, float(given)) if given is not None else None
    except ValueError:
        return None
