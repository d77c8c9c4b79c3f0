"""Write the container's termination message, which Kubernetes keeps in the status of the pod."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock_model.contracts.pod_layout import TERMINATION_LOG
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.texts import cut_trace

__all__ = ["TERMINATION_LOG_VARIABLE", "bounded", "is_missing", "write"]

TERMINATION_LOG_VARIABLE: Final = "PENSTOCK_TERMINATION_LOG"
"""Environment variable with the file for the termination message, instead of `pod_layout.TERMINATION_LOG`."""

_MESSAGE: Final = 2_000  # characters
_TRACE: Final = 16_000


def bounded(text: str | None, most: int = _MESSAGE) -> str | None:
    """Return the text, truncated if it is too long."""
    return text if text is None or len(text) <= most else f"{text[:most]}..."


def is_missing() -> bool:
    """Return whether the file for the message, which Kubernetes creates, exists and is empty."""
    path = _path()
    try:
        return path is not None and path.stat().st_size == 0
    except OSError:
        return False


def _path() -> Path | None:
    override = os.environ.get(TERMINATION_LOG_VARIABLE)
    path = Path(override or TERMINATION_LOG)
    return path if override or path.exists() else None


def write(message: TerminationMessage) -> None:
    """Write the message, with texts truncated. Does nothing without the file, which Kubernetes creates. Raises nothing."""
    path = _path()
    if path is None:
        return
    short = message.model_copy(
        update={
            "message": bounded(message.message),
            "trouble": bounded(message.trouble, 1_000),
            "trace": message.trace and cut_trace(message.trace, _TRACE),
        }
    )
    with suppress(OSError):
        path.write_text(short.to_message(), encoding="utf-8")
