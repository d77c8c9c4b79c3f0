"""Spark settings that `spec.spark.conf` must not have, because a guarantee of Penstock depends on them. Pure.

All other settings of the user override those of Penstock.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem

__all__ = ["REFUSED", "reason_against", "refused_on_cluster", "refused_settings"]

_ONE_PROCESS: Final = "Spark runs in the task's own process, with one worker for each core of its pod; remove it"
_REPEATS: Final = (
    "Spark would repeat a part of a batch, and deliver its records twice; remove it, because the task retries failed "
    "batches"
)
_NO_EXECUTORS: Final = (
    "there are no executors, because Spark runs in the task's own process; remove it, and set spec.spark.executors to "
    "use executors, or raise spark.driver.memory or spec.template.resources"
)
_FORKED: Final = "Penstock starts the workers and sets up all that they need for a batch; remove it"
_PYTHON: Final = "workers run in the task's own Python, which has the plugins; remove it"
_FOLDER: Final = (
    "all files of Spark are in the task's folder, which is removed with the task; remove it, and set the environment "
    "variable TMPDIR (spec.template.env) to move that folder"
)
_PORTS: Final = "Spark's ports need no password, and only the task's own pod may reach them; remove it"
_ONE_PORT: Final = "tasks on one machine would request the same port; remove it, so that Spark uses a free port"
_NO_REPEATS: Final = "Spark would run no job, because Penstock does not let it repeat a task; remove it"
_NO_CLUSTER: Final = "it is for a Spark cluster, but Spark runs in the task's own process; remove it"

REFUSED: Final[Mapping[str, str]] = {
    "spark.master": _ONE_PROCESS,
    "spark.remote": _ONE_PROCESS,
    "spark.api.mode": _ONE_PROCESS,
    "spark.task.cpus": _ONE_PROCESS,
    "spark.submit.": "nothing is submitted: the task starts Spark itself, with the modules of its plugins; remove it",
    "spark.deploy.": _NO_CLUSTER,
    "spark.task.maxFailures": _REPEATS,
    "spark.stage.": _REPEATS,
    "spark.speculation": _REPEATS,
    "spark.speculation.": _REPEATS,
    "spark.excludeOnFailure.": _NO_REPEATS,
    "spark.blacklist.": _NO_REPEATS,
    "spark.scheduler.executorTaskBlacklistTime": _NO_REPEATS,
    "spark.scheduler.executorTaskExcludeOnFailureTime": _NO_REPEATS,
    "spark.decommission.": _NO_EXECUTORS,
    "spark.executor.decommission.": _NO_EXECUTORS,
    "spark.storage.decommission.": _NO_EXECUTORS,
    "spark.dynamicAllocation.": _NO_EXECUTORS,
    "spark.executor.cores": _NO_EXECUTORS,
    "spark.executor.instances": _NO_EXECUTORS,
    "spark.executor.memory": _NO_EXECUTORS,
    "spark.python.daemon.module": _FORKED,
    "spark.python.worker.module": _FORKED,
    "spark.python.use.daemon": _FORKED,
    "spark.python.worker.reuse": "a worker keeps its Kafka clients and its transactional id from batch to batch; remove it",
    "spark.pyspark.": _PYTHON,
    "spark.local.dir": _FOLDER,
    "spark.python.unix.domain.socket.dir": _FOLDER,
    "spark.driver.bindAddress": _PORTS,
    "spark.driver.host": _PORTS,
    "spark.driver.port": _ONE_PORT,
    "spark.driver.blockManager.port": _ONE_PORT,
    "spark.blockManager.port": _ONE_PORT,
    "spark.driver.defaultJavaOptions": "it would replace options that Penstock needs for log, memory and folders; use "
    "spark.driver.extraJavaOptions, which adds to them",
}
"""Cause and remedy by setting; a name that ends with a dot covers all settings that start with it."""


_EXECUTORS: Final = frozenset(
    {
        "spark.executor.cores",
        "spark.executor.memory",
        "spark.pyspark.python",
        "spark.driver.host",
        "spark.driver.bindAddress",
    }
)
"""Settings of executors, and of the address that they use to reach the driver."""
_SEALED: Final = (
    "executors receive the connector's passwords, so Penstock always uses authentication and encryption; remove it"
)
_OF_EXECUTORS: Final = "the number of executors and their cores follow spec.spark.executors (max, resources); remove it"
_OPTIONS: Final = (
    "it would replace options that Penstock needs for log and memory; use spark.executor.extraJavaOptions, which adds to "
    "them"
)
_IN_PODS: Final[Mapping[str, str]] = {
    "spark.executor.cores": _OF_EXECUTORS,
    "spark.executor.instances": _OF_EXECUTORS,
    "spark.dynamicAllocation.": _OF_EXECUTORS,
    "spark.executor.defaultJavaOptions": _OPTIONS,
    "spark.port.maxRetries": "network policies allow the ports that Penstock sets, and no others; remove it",
}
_NO_FOLDER: Final = "it names a folder of the driver's machine, which executors do not have; remove it"
_SEALS: Final = ("spark.authenticate", "spark.network.crypto.", "spark.io.encryption.")


def reason_against(name: str, *, on_cluster: bool = False, in_pods: bool = False) -> str | None:
    """Return why this setting is rejected, with the remedy; None if it is allowed.

    Args:
        name: name of the setting.
        on_cluster: whether the workers are executors of a cluster (`penstock run --master`).
        in_pods: whether the workers are executors in pods (`spec.spark.executors`).
    """
    name = name.strip()
    if on_cluster and name in _EXECUTORS:
        return None
    if (on_cluster or in_pods) and name.startswith(_SEALS):
        return _SEALED
    if (on_cluster or in_pods) and name == "spark.python.unix.domain.socket.enabled":
        return _NO_FOLDER
    if in_pods:
        if name == "spark.executor.memory":
            return None
        if (found := _reason(name, _IN_PODS)) is not None:
            return found
    return _reason(name, REFUSED)


def _reason(name: str, refused: Mapping[str, str]) -> str | None:
    return refused.get(next((p for p in refused if p.endswith(".") and name.startswith(p)), name))


def refused_settings(conf: Mapping[str, str], *, in_pods: bool = False) -> Iterator[Problem]:
    """Yield a problem for each rejected setting, regardless of its value.

    Args:
        conf: `spec.spark.conf`.
        in_pods: see `reason_against`.
    """
    for name in conf:
        if (reason := reason_against(name, in_pods=in_pods)) is not None:
            yield Problem(f"spec.spark.conf.{name}", f"cannot be set: {reason}")


def refused_on_cluster(conf: Mapping[str, str]) -> Iterator[Problem]:
    """Yield problems like `refused_settings`, for a run on the executors of a cluster.

    Args:
        conf: `--spark-conf`.
    """
    for name in conf:
        if (reason := reason_against(name, on_cluster=True)) is not None:
            yield Problem(f"--spark-conf {name}", f"cannot be set: {reason}")
