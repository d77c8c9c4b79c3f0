"""A kind that may come and go is watched as long as it is there, and by one watch."""

import asyncio
from collections.abc import Callable

from penstock_operator.errors import Unavailable
from penstock_operator.kubernetes.kinds import POLICY, Kind
from penstock_operator.kubernetes.optional_kinds import OptionalKinds


class Cluster:
    """One that knows the kind, or not."""

    def __init__(self) -> None:
        self.is_there = False
        self.is_away = False
        self.begun = 0
        self.stopped = 0
        self.end: Callable[[], None] = lambda: None

    async def serves(self, kind: Kind) -> bool:
        if self.is_away:
            raise Unavailable("away")
        return self.is_there

    def watch(self, kind: Kind) -> "Cluster":
        return self

    def start(self, on_end: Callable[[], None]) -> None:
        self.begun, self.end = self.begun + 1, on_end

    def stop(self) -> None:
        self.stopped += 1
        self.end()


async def until(claim: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not claim():
            await asyncio.sleep(0.01)


def test_a_kind_is_watched_when_it_comes_and_when_it_comes_again() -> None:
    async def run() -> None:
        cluster = Cluster()
        late = OptionalKinds(cluster.serves, cluster.watch, look=0.01, after=0.01)
        following = asyncio.create_task(late.follow(POLICY))
        await asyncio.sleep(0.05)
        assert cluster.begun == 0
        cluster.is_there = True
        await until(lambda: cluster.begun == 1)
        cluster.is_there = False
        cluster.end()
        cluster.end()  # it may say so twice
        cluster.is_away = True
        await asyncio.sleep(0.05)
        cluster.is_there, cluster.is_away = True, False
        await until(lambda: cluster.begun == 2)
        late.stop()
        await asyncio.wait_for(following, 30)
        assert (cluster.begun, cluster.stopped) == (2, 1)

    asyncio.run(run())
