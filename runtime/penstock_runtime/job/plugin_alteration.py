"""Ask the connector plugin whether it agrees to new offsets (`alter_offsets`, KIP-875), within a separate time limit.

Each way in which a plugin can answer has a separate message, which is Kafka Connect's if it has one.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.job.with_kafka import OffsetsRefused
from penstock_runtime.process.abandonable import start

__all__ = ["AlterOffsets", "ask_plugin"]

AlterOffsets = Callable[[], bool]
"""Call of the plugin's `alter_offsets` with all of its arguments."""
_SECONDS: Final = 30.0
"""Seconds that a plugin may take, as for its `validate`; together with the work in Kafka before and after it, this fits into
the deadline of a job pod."""


def ask_plugin(alter_offsets: AlterOffsets, connector: str, *, seconds: float = _SECONDS) -> bool:
    """Return whether the plugin handles the change itself; False if it may keep offsets elsewhere.

    The plugin is called in a thread, which is abandoned after the time limit.

    Raises:
        OffsetsRefused: the plugin raised, did not answer in time, or answered neither True nor False.
    """
    answer: Future[object] = start(alter_offsets, "alter-offsets")
    wait([answer], timeout=seconds)
    if not answer.done():  # not by exception: a TimeoutError may come from the plugin
        raise OffsetsRefused(
            f"The connector's alter_offsets has not answered within {seconds:.0f} s; nothing was written to Kafka. If the "
            f"plugin moves a position in an external system, check that position before the next attempt."
        )
    if (error := answer.exception()) is not None:
        raise OffsetsRefused(_refusal(error, connector)) from error
    if not isinstance(result := answer.result(), bool):
        raise OffsetsRefused(
            f"The connector's alter_offsets returned {type(result).__name__} instead of True or False; nothing was written"
        )
    return result


def _refusal(error: BaseException, connector: str) -> str:
    """Return the message for the user about an error of the plugin."""
    if isinstance(error, NotImplementedError):
        text = (
            f"Failed to modify offsets for connector {connector} because it doesn't support external modification of "
            "offsets"
        )
        return f"{text}: {error}" if str(error) else text
    if isinstance(error, ConnectError):
        return str(error).strip() or "The connector refuses these offsets without giving a reason"
    return f"The connector's alter_offsets failed, and nothing was written: {type(error).__name__}: {error}"
