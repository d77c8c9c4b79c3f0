"""Run work in a thread that may be abandoned: it does not keep the process from exiting."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["start"]

T = TypeVar("T")


def start(work: Callable[[], T], name: str) -> Future[T]:
    """Run work in a thread with this name. The future gets any exception, including KeyboardInterrupt and SystemExit."""
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as e:  # noqa: BLE001 (raised by `result`)
            outcome.set_exception(e)

    threading.Thread(target=run, name=name, daemon=True).start()
    return outcome
