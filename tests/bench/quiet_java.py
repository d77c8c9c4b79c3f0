"""Quiet Debezium connectors: each reads a snapshot of 10,000 rows, then nothing changes for a minute and a half.

Under one `penstock run` each has a process and a JVM of its own; in Kafka Connect all are in one worker. Memory is PSS of
all processes of the side at the end of the calm, `penstock run` itself apart; CPU is that of its last half.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from connectors.sql.tests.conftest import Server
from tests.bench.java_work import debezium_config, make_orders
from tests.bench.results import AtMost, Measure
from tests.bench.sides import Side, Work
from tests.bench.topics import Topic
from tests.bench.tree import Memory

__all__ = ["QuietJavaFigures", "quiet_java_rows", "run_quiet_java"]

_ROWS: Final = 10_000
_CALM: Final = 45.0
"""Seconds, twice: after less a JVM has not given back yet what it does not need."""
_PATIENCE: Final = 300.0
_GOAL: Final = 300
"""MB of a quiet Debezium task: a connector of its own process must not cost a gigabyte."""


@dataclass(frozen=True)
class QuietJavaFigures:
    """What one run of one side gave: bytes, shares of a core, seconds."""

    connectors: int
    memory: Memory
    cpu: float
    start: float
    detail: dict[str, Any]


def run_quiet_java(side: Side, servers: str, connectors: int, server: Server, folder: Path) -> QuietJavaFigures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or a snapshot is not complete.
    """
    names = [f"bench-quiet-{folder.name}-{n}" for n in range(connectors)]
    with server.connect() as connection, ExitStack() as stack:
        make_orders(connection, _ROWS)
        topics = [stack.enter_context(Topic(servers, f"{name}.public.orders")) for name in names]
        works = [Work("quiet", debezium_config(name, server, "snapshot")) for name in names]
        with side.run_all(works, folder) as measured:
            deadline = time.monotonic() + _PATIENCE
            while any(topic.end() < _ROWS for topic in topics):
                measured.check()
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{measured.name}: snapshots are not complete\n{measured.log_end()}")
                time.sleep(0.2)
            start = time.monotonic() - measured.started
            time.sleep(_CALM)
            before, begun = measured.tree.cpu(look=True), time.monotonic()
            time.sleep(_CALM)
            cpu = (measured.tree.cpu(look=True) - before) / (time.monotonic() - begun)
            measured.check()
            roles = measured.tree.memory_by_role()
            detail = {"memory": roles, "log": measured.complaints()}
            memory = measured.tree.memory()
        connection.execute(b"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active")
    return QuietJavaFigures(connectors, memory, cpu, start, detail)


def quiet_java_rows(ours: Sequence[QuietJavaFigures], peer: Sequence[QuietJavaFigures]) -> list[Measure]:
    """The goal is that of one task."""
    count = ours[0].connectors
    what = f"{count} quiet Debezium"

    def mb(figures: Sequence[QuietJavaFigures], parts: int = 1) -> list[float]:
        return [f.memory.task / 1e6 / parts for f in figures]

    return [
        Measure(f"{what}: memory of all", "MB", mb(ours), mb(peer), None),
        Measure(f"{what}: memory of each", "MB", mb(ours, count), mb(peer, count), AtMost(_GOAL)),
        Measure(f"{what}: memory of `penstock run` itself", "MB", [f.memory.parent / 1e6 for f in ours], [], None),
        Measure(f"{what}: CPU", "% of a core", [f.cpu * 100 for f in ours], [f.cpu * 100 for f in peer], None),
        Measure(f"{what}: start of all", "s", [f.start for f in ours], [f.start for f in peer], None),
    ]
