"""Ask a task pod why it is not ready, since its reports go through Kafka, which the pod may be unable to reach."""

import http.client
from contextlib import closing
from typing import Final

from penstock_model.contracts.pod_layout import METRICS_PORT, READY_PATH

__all__ = ["NO_ANSWER", "why_unready"]

_SECONDS: Final = 1.5
_LENGTH: Final = 1_000  # bytes
NO_ANSWER: Final = (
    "it does not respond: its process is frozen, its node is lost, or a network policy blocks the operator"
)


def why_unready(address: str) -> str:
    """Return the problem that a pod reports; empty: it reports none.

    Args:
        address: IP address of the pod.
    """
    try:
        with closing(http.client.HTTPConnection(address, METRICS_PORT, timeout=_SECONDS)) as connection:
            connection.request("GET", READY_PATH)
            answer = connection.getresponse()
            text = answer.read(_LENGTH).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return NO_ANSWER
    if answer.status == http.client.OK:
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
