"""Who waits when a sink asks to wait."""

from typing import Any, cast

import pytest

from penstock import RetriableError
from penstock_runtime.engine.sink_process import PutRetries, SinkProcess
from penstock_runtime.engine.summary import Summary
from penstock_runtime.engine.tolerance import ErrorPolicy


def process(told: list[str | None], **more: Any) -> SinkProcess:
    nothing = cast("Any", None)
    return SinkProcess(
        nothing, connector="c", task=0, steps=(), converters=nothing, policy=ErrorPolicy(), retries=PutRetries(),
        writer=lambda: nothing, stopping=lambda: False, sleep=lambda seconds: None, trouble=told.append, **more,
    )  # fmt: skip


class Refusing:
    """Refuses twice, then does it."""

    def __init__(self) -> None:
        self.left = 2

    def __call__(self) -> str:
        if self.left:
            self.left -= 1
            raise RetriableError("the table is locked")
        return "done"


def test_the_driver_tries_again_and_tells_of_it() -> None:
    told: list[str | None] = []
    summary = Summary()
    assert process(told).retrying(Refusing(), summary) == "done"
    assert summary.retries == 2
    assert [t and "the table is locked" in t for t in told] == [True, True, None]


def test_a_worker_gives_the_request_to_wait_to_the_driver() -> None:
    told: list[str | None] = []
    with pytest.raises(RetriableError, match="the table is locked"):
        process(told, patient=False).retrying(Refusing(), Summary())
    assert told == []
