"""Each way in which a plugin can answer `alter_offsets` has a separate outcome, and none waits forever."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import ConnectError
from penstock_runtime.job.plugin_alteration import ask_plugin
from penstock_runtime.job.with_kafka import OffsetsRefused


def raising(error: BaseException) -> Callable[[], bool]:
    def alter_offsets() -> bool:
        raise error

    return alter_offsets


@pytest.mark.parametrize("answer", [True, False])
def test_answer_is_that_of_the_plugin(answer: bool) -> None:
    assert ask_plugin(lambda: answer, "c") is answer


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectError("custom refusal"), "custom refusal"),
        (ConnectError(" "), "The connector refuses these offsets without giving a reason"),
        (
            NotImplementedError(),
            "Failed to modify offsets for connector c because it doesn't support external modification of offsets",
        ),
        (
            NotImplementedError("they are in the table"),
            "Failed to modify offsets for connector c because it doesn't support external modification of offsets: they are "
            "in the table",
        ),
        (KeyError("id"), "The connector's alter_offsets failed, and nothing was written: KeyError: 'id'"),
        (TimeoutError("db"), "The connector's alter_offsets failed, and nothing was written: TimeoutError: db"),
        (SystemExit(3), "The connector's alter_offsets failed, and nothing was written: SystemExit: 3"),
        (KeyboardInterrupt(), "The connector's alter_offsets failed, and nothing was written: KeyboardInterrupt: "),
        (
            asyncio.CancelledError("loop"),
            "The connector's alter_offsets failed, and nothing was written: CancelledError: loop",
        ),
    ],
)
def test_an_error_of_the_plugin_refuses_the_offsets(error: BaseException, message: str) -> None:
    with pytest.raises(OffsetsRefused) as refused:
        ask_plugin(raising(error), "c")
    assert str(refused.value) == message


@pytest.mark.parametrize("answer", [None, "yes", 1])
def test_an_answer_that_is_neither_true_nor_false_refuses_the_offsets(answer: Any) -> None:
    with pytest.raises(OffsetsRefused, match=f"returned {type(answer).__name__} instead of True or False"):
        ask_plugin(lambda: answer, "c")


def test_a_plugin_that_hangs_is_given_up() -> None:
    release = threading.Event()
    with pytest.raises(OffsetsRefused, match="has not answered within 0 s; nothing was written to Kafka"):
        ask_plugin(release.wait, "c", seconds=0.05)
    release.set()
