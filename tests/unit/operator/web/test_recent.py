"""Many pages cost the API server one request in some seconds."""

import asyncio

import pytest

from penstock_operator.errors import Unavailable
from penstock_operator.web.recent import Recent


class Calls:
    """A slow call, its results, and how often it was made."""

    def __init__(self) -> None:
        self.count = 0
        self.now = 0.0
        self.gate = asyncio.Event()

    async def __call__(self) -> int:
        self.count += 1
        await self.gate.wait()
        return self.count


def test_those_who_ask_together_share_a_call_and_the_next_gets_its_result() -> None:
    async def run() -> None:
        calls = Calls()
        recent = Recent[str, int](5.0, 10, lambda: calls.now)
        asked = [asyncio.create_task(recent.get("a", calls)) for _ in range(20)]
        await asyncio.sleep(0)
        asked[0].cancel()
        calls.gate.set()
        assert (await asyncio.gather(*asked, return_exceptions=True))[1:] == [1] * 19
        calls.now = 4.9
        assert await recent.get("a", calls) == 1
        assert await recent.get("b", calls) == 2
        calls.now = 5.0
        assert await recent.get("a", calls) == 3

    asyncio.run(run())


def test_an_error_is_shared_too() -> None:
    async def run() -> None:
        recent = Recent[str, int](5.0, 10, lambda: 0.0)
        calls = 0

        async def fail() -> int:
            nonlocal calls
            calls += 1
            raise Unavailable("no answer")

        for _ in range(3):
            with pytest.raises(Unavailable):
                await recent.get("a", fail)
        assert calls == 1

    asyncio.run(run())


def test_a_bounded_number_is_kept() -> None:
    async def run() -> None:
        calls = Calls()
        calls.gate.set()
        recent = Recent[int, int](5.0, 10, lambda: 0.0)
        for key in range(100):
            await recent.get(key, calls)
        assert len(recent._results) <= 11

    asyncio.run(run())
