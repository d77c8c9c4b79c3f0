"""A backlog on a Spark cluster: records of Datagen, in eight streams, by a task alone and by one with two executors.

The cluster is the tests': Spark's own Master and two Workers of one core each, on the same machine, encrypted. A fifth of
the records come before to warm up; records per second and CPU run from there to the last one. CPU is that of the task with
all of its processes, and of the Workers with their executors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.bench.results import Measure
from tests.bench.sides import CONVERTERS, Penstock, Work
from tests.bench.timeline import Timeline
from tests.bench.topics import Topic
from tests.bench.tree import Tree
from tests.integration.spark_cluster import standalone_cluster

__all__ = ["ExecutorFigures", "executor_rows", "run_executors"]

_STREAMS: Final = 8
_WARM: Final = 5


@dataclass(frozen=True)
class ExecutorFigures:
    """What one run gave: records per second, CPU seconds of the task and of the cluster."""

    rate: float
    cpu: float
    cluster_cpu: float
    detail: dict[str, Any]


def run_executors(servers: str, folder: Path, records: int, executors: int) -> ExecutorFigures:
    """One run with so many executors; 0: the task alone, with as many workers as there are cores.

    Raises:
        RuntimeError: it failed, or the topic holds more or fewer records than it should.
    """
    side = Penstock(servers)
    if not executors:
        return _run(side, servers, folder, records, lambda: 0.0)
    with standalone_cluster(folder / "cluster") as cluster:
        cluster.start_workers(executors)
        trees = [Tree(worker.pid) for worker in cluster.workers]
        side = replace(side, options=tuple(cluster.options()))
        return _run(side, servers, folder, records, lambda: sum(tree.cpu(look=True) for tree in trees))


def _run(side: Penstock, servers: str, folder: Path, records: int, cluster_cpu: Callable[[], float]) -> ExecutorFigures:
    name = f"bench-executors-{folder.name}"
    config = {
        "connector.class": "Datagen",
        "topic": name,
        "rate": "0",
        "count": str(records),
        "partitions": str(_STREAMS),
        **CONVERTERS,
    }
    timeline = Timeline()
    with Topic(servers, name) as topic:
        with side.run(Work("executors", config), folder) as measured:
            warm = records // _WARM
            begun = measured.await_until("warm", lambda: topic.end() >= warm)
            before, cluster = measured.tree.cpu(look=True), cluster_cpu()
            timeline.follow(measured, topic.end, at_least=records)
            cluster = cluster_cpu() - cluster
            detail = {"log": measured.complaints()}
        found = sum(len(values) for _, values in topic.read())
    if found != records:
        raise RuntimeError(f"{name}: {found} records of {records}")
    reached = timeline.moments[-1]
    return ExecutorFigures((records - warm) / (reached.at - begun), reached.cpu - before, cluster, detail)


def executor_rows(alone: Sequence[ExecutorFigures], two: Sequence[ExecutorFigures]) -> list[Measure]:
    """Only Penstock has them."""
    rows = []
    for name, runs in (("the task alone", alone), ("two executors", two)):
        rows += [
            Measure(f"Datagen, {name}: throughput", "records/s", [f.rate for f in runs], []),
            Measure(f"Datagen, {name}: CPU", "s", [f.cpu + f.cluster_cpu for f in runs], []),
        ]
    return rows
