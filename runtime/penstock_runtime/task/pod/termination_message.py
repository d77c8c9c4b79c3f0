"""The last word of a process, where Kubernetes picks it up: the container's termination message."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock_model.contracts.pod_layout import TERMINATION_LOG
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_runtime.init import TERMINATION_LOG_VARIABLE

__all__ = ["bounded", "leave"]

_MESSAGE: Final = 2_000  # characters
_TRACE: Final = 16_000


def bounded(text: str | None, most: int = _MESSAGE) -> str | None:
    """The text's beginning."""
    return text if text is None or len(text) <= most else f"{text[:most]}..."


def leave(word: TerminationMessage) -> None:
    """Write it, bounded. Without the file, which Kubernetes makes, there is nobody to read it; errors are not raised."""
    named = os.environ.get(TERMINATION_LOG_VARIABLE)
    path = Path(named or TERMINATION_LOG)
    if not named and not path.exists():
        return
    short = word.model_copy(
        update={
            "message": bounded(word.message),
            "trouble": bounded(word.trouble, 1_000),
            "trace": word.trace and word.trace[-_TRACE:],
        }
    )
    with suppress(OSError):
        path.write_text(short.to_message(), encoding="utf-8")
