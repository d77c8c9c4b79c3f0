"""Child processes with a time limit and an output limit."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

__all__ = ["Ended", "run_child"]

_MOST_BYTES: Final = 256 << 10
_END_SECONDS: Final = 1.0


class Ended(NamedTuple):
    """Exit code of a process, negative after a signal, and the beginnings of its outputs."""

    code: int
    out: str
    error: str


async def run_child(
    command: Sequence[str], given: str, seconds: float, environment: Mapping[str, str] | None = None
) -> Ended:
    """Run a program, and kill it if it does not end in time. Its children end with it.

    Args:
        command: program with its arguments.
        given: standard input.
        seconds: time limit in seconds.
        environment: its environment variables; None: those of this process.

    Raises:
        TimeoutError: it did not end in time.
    """
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=None if environment is None else dict(environment),
    )
    assert child.stdout is not None
    assert child.stderr is not None
    try:
        async with asyncio.timeout(seconds):
            _, out, error = await asyncio.gather(_feed(child, given), _some(child.stdout), _some(child.stderr))
            code = await child.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # with its children, which may outlive it
        await child.wait()
        with suppress(TimeoutError):  # a process that has left the group keeps the output open
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(_some(child.stdout), _some(child.stderr))
    return Ended(code, out, error)


async def _feed(child: asyncio.subprocess.Process, text: str) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(text.encode())
        await child.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):  # it has ended without reading all
        pass
    finally:
        child.stdin.close()


async def _some(stream: asyncio.StreamReader) -> str:
    """Return the beginning of a stream, and discard the rest, so that the child does not block."""
    kept = b""
    while piece := await stream.read(1 << 16):
        kept = (kept + piece)[:_MOST_BYTES] if len(kept) < _MOST_BYTES else kept
    return kept.decode(errors="replace")
