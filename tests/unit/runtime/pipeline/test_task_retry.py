"""A start that fails temporarily is retried, after growing pauses or when the plugin asks for it."""

import threading
from typing import Any, cast

import pytest

from penstock import RetriableError
from penstock_runtime.pipeline import task_retry


class Troubles:
    def trouble(self, text: str | None) -> None:
        pass


def test_start_is_retried_after_retry_after_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[float] = []
    monkeypatch.setattr(task_retry, "wait", lambda seconds, stopping: paused.append(seconds))
    errors = [RetriableError("away"), RetriableError("busy", retry_after=30), RetriableError("away")]

    def start() -> None:
        if errors:
            raise errors.pop(0)

    task_retry.until_done(start, passing=(RetriableError,), stopping=threading.Event(), reports=cast("Any", Troubles()))
    assert paused == [0.1, 30, 0.4]
