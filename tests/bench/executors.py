"""A backlog on a Spark cluster: records of Datagen, in eight streams, by a task alone and by one with two executors.

The cluster is the tests': Spark's own Master and two Workers of one core each, on the same machine, encrypted. So it shows
what executors cost, and gives the numbers of the model in docs/spark-cluster.md.

A fifth of the records, and all that come before Spark is up, warm up; records per second and CPU run from there to the last
one. CPU is that of the driver with its JVM and `penstock run`, of what makes the records (the task's workers with the JVM,
or the Workers with their executors), and of the broker. The time of a batch that no executor can shorten follows from a
second run with smaller batches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil
from tests.bench.measured import Measured
from tests.bench.results import Measure
from tests.bench.sides import CONVERTERS, Penstock, Work
from tests.bench.timeline import Timeline
from tests.bench.topics import Topic
from tests.integration.spark_cluster import standalone_cluster

__all__ = ["SMALL", "ExecutorFigures", "executor_rows", "run_executors"]

_STREAMS: Final = 8
_WARM: Final = 5
_LARGE: Final = 320_000
"""Records of a batch: as many as `batch.max.bytes` allows for records of this size."""
SMALL: Final = 40_000
_MAKING: Final = ("workers", "JVM")
"""Roles of the task's processes that make records if it has no executors."""


@dataclass(frozen=True)
class ExecutorFigures:
    """What one run gave: records per second, and CPU seconds for each record.

    Attributes:
        rate: records per second.
        batch: the most records of a batch.
        driver: CPU of the task's own processes, without its workers.
        making: CPU of its workers and of Spark's JVM, or of the executors and their Workers.
        broker: CPU of the broker.
    """

    rate: float
    batch: int
    driver: float
    making: float
    broker: float
    detail: dict[str, Any]


def run_executors(
    servers: str, broker: int, folder: Path, records: int, executors: int, batch: int = _LARGE
) -> ExecutorFigures:
    """One run with so many executors; 0: the task alone, with as many workers as there are cores.

    Raises:
        RuntimeError: it failed, or the topic holds more or fewer records than it should.
    """
    side = Penstock(servers)
    if not executors:
        return _Run(side, broker, folder, records, batch, dict).figures()
    with standalone_cluster(folder / "cluster") as cluster:
        cluster.start_workers(executors)
        workers = [worker.pid for worker in cluster.workers]
        side = replace(side, options=tuple(cluster.options()))

        def of_cluster() -> dict[str, float]:
            return {"executors": sum(map(_cpu_below, workers))}

        return _Run(side, broker, folder, records, batch, of_cluster).figures()


@dataclass(frozen=True)
class _Run:
    side: Penstock
    broker: int
    folder: Path
    records: int
    batch: int
    cluster: Callable[[], Mapping[str, float]]

    def figures(self) -> ExecutorFigures:
        name = f"bench-executors-{self.folder.name}"
        config = {
            "connector.class": "Datagen",
            "topic": name,
            "rate": "0",
            "count": str(self.records),
            "partitions": str(_STREAMS),
            "batch.max.records": str(self.batch),
            **CONVERTERS,
        }
        timeline = Timeline()
        with Topic(self.side.servers, name) as topic:
            with self.side.run(Work("executors", config), self.folder) as measured:
                warm = self.records // _WARM
                measured.await_up()
                begun = measured.await_until("warm", lambda: topic.end() >= warm)
                before, left = self._cpu(measured), self.records - topic.end()
                timeline.follow(measured, topic.end, at_least=self.records)
                spent = {role: cpu - before.get(role, 0.0) for role, cpu in self._cpu(measured).items()}
                detail = {"cpu": {role: round(cpu, 2) for role, cpu in spent.items()}, "log": measured.complaints()}
            found = sum(len(values) for _, values in topic.read())
        if found != self.records:
            raise RuntimeError(f"{name}: {found} records of {self.records}")
        if left < self.records // 2:
            raise RuntimeError(f"{name}: Spark has delivered {left} of {self.records} records; take more (--records)")
        broker = spent.pop("broker")
        making = spent["executors"] if "executors" in spent else sum(spent.get(role, 0.0) for role in _MAKING)
        rate = left / (timeline.moments[-1].at - begun)
        return ExecutorFigures(
            rate, self.batch, (sum(spent.values()) - making) / left, making / left, broker / left, detail
        )

    def _cpu(self, measured: Measured) -> dict[str, float]:
        own = measured.tree.cpu_by_role(look=True)
        return {**own, **self.cluster(), "broker": _cpu_below(self.broker)}


def _cpu_below(pid: int) -> float:
    """CPU seconds of a process and of all below it, those that have ended included."""
    process = psutil.Process(pid)
    return sum(sum(each.cpu_times()[:4]) for each in [process, *process.children(recursive=True)])


def fixed_seconds(large: Sequence[ExecutorFigures], small: Sequence[ExecutorFigures]) -> float:
    """Seconds of each batch that do not depend on its size: a record takes `a + fixed / batch`, for both sizes."""
    (a, b) = (median(1 / f.rate for f in figures) for figures in (large, small))
    return (b - a) / (1 / small[0].batch - 1 / large[0].batch)


def executor_rows(
    alone: Sequence[ExecutorFigures], two: Sequence[ExecutorFigures], small: Sequence[ExecutorFigures]
) -> list[Measure]:
    """Only Penstock has them."""
    rows = []
    for name, runs in (("the task alone", alone), ("two executors", two)):
        rows.append(Measure(f"Datagen, {name}: throughput", "records/s", [f.rate for f in runs], []))
        for what, each in (
            ("CPU of the driver", [f.driver for f in runs]),
            ("CPU of those that make the records", [f.making for f in runs]),
            ("CPU of the broker", [f.broker for f in runs]),
        ):
            rows.append(Measure(f"Datagen, {name}: {what}", "us/record", [1e6 * seconds for seconds in each], []))
    batch = f"batches of {small[0].batch:,} records"
    rows.append(Measure(f"Datagen, two executors, {batch}: throughput", "records/s", [f.rate for f in small], []))
    rows.append(Measure("a batch on executors: time that they do not shorten", "s", [fixed_seconds(two, small)], []))
    return rows
