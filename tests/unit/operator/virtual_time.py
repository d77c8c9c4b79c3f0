"""An event loop whose time passes at once: whoever waits has waited."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    passed = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is not None and timeout > 0:
            self.passed += timeout
            timeout = 0
        return super().select(timeout)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._passing = _Selector()
        super().__init__(self._passing)

    def time(self) -> float:
        return self._passing.passed


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in such a loop, which begins at 0."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(test)
