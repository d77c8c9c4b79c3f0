"""What the API server answers instead of what was asked, as errors of ours. Pure.

Source: k8s.io/apimachinery `metav1.Status` and its `StatusReason`s.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock_operator.errors import Conflict, NotYet, OperatorError, Refused, Unavailable

__all__ = ["Answer", "error_of", "status_of"]

_LONGEST: Final = 2_000  # characters of the server's sentence; an invalid CRD can be told about in megabytes
_PATIENCE: Final = 1.0
_OF_THE_SERVER: Final = frozenset((408, 500, 502, 503, 504))


class Answer(NamedTuple):
    """What came back."""

    code: int
    headers: Mapping[str, str]
    body: bytes


def status_of(answer: Answer) -> Mapping[str, Any]:
    """The `Status` in an answer; empty where it holds none (a proxy answered, or there is no such kind of object)."""
    try:
        status = json.loads(answer.body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) and status.get("kind") == "Status" else {}


def error_of(answer: Answer, doing: str) -> OperatorError:
    """The error for an answer that is none of the expected ones.

    Args:
        answer: its code is 300 or more.
        doing: begins the message: "Creating Pod shop/orders-0-1".
    """
    status = status_of(answer)
    reason = str(status.get("reason", ""))
    text = _sentence(answer, status)
    patience = _retry_after(answer, status)
    match answer.code:
        case 409:
            return Conflict(f"{doing}: {text}")
        case 429:
            return NotYet(f"{doing}: the API server asks for patience: {text}", patience or _PATIENCE)
        case 401:
            return Unavailable(f"{doing}: the API server does not accept our credentials: {text}")
        case 404 if not status:
            return Unavailable(
                f"{doing}: the API server knows no such kind of object; install the CRDs of this release"
            )
        case 410:
            return Unavailable(f"{doing}: {text}")
        case code if code in _OF_THE_SERVER or code >= 500 or code < 400:
            return Unavailable(f"{doing}: {text}", patience)
        case code:
            causes = (status.get("details") or {}).get("causes") or ()
            return Refused(
                doing,
                answer=text,
                status=code,
                reason=reason,
                causes=frozenset(str(c.get("reason", "")) for c in causes),
            )


def _sentence(answer: Answer, status: Mapping[str, Any]) -> str:
    text = str(status.get("message") or "") or answer.body.decode("utf-8", "replace").strip()
    text = text or f"HTTP status {answer.code}"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _retry_after(answer: Answer, status: Mapping[str, Any]) -> float | None:
    """Seconds; the header may be a date too, which the API server never sends."""
    given = next((v for k, v in answer.headers.items() if k.lower() == "retry-after"), None)
    if given is None:
        given = (status.get("details") or {}).get("retryAfterSeconds")
    try:
        return max(0.0, float(given)) if given is not None else None
    except ValueError:
        return None
