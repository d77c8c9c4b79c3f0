"""Executors of one task in separate pods (`spec.spark.executors`), and their Spark Master, which runs in the driver's JVM.

The Master thus needs no second JVM, and ends with the session. The operator creates the pods of its Workers.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock_model.contracts.pod_layout import SPARK_BLOCKS_PORT, SPARK_DRIVER_PORT, SPARK_MASTER_PORT
from penstock_model.contracts.task_spec import SparkCluster
from penstock_model.resources.executors import Executors
from penstock_runtime.plugins.mounted import FOLDERS_VARIABLE
from penstock_runtime.spark.cluster import SEALED, SECRET, Cluster, bracketed, executor_settings, secret_of
from penstock_runtime.spark.jvm_heap import spark_heap

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

__all__ = ["ExecutorPods", "Master", "cluster_of"]

_MASTER: Final[Mapping[str, str]] = {
    **SEALED,
    # It would start any program for clients without the secret.
    "spark.master.rest.enabled": "false",
    "spark.ui.killEnabled": "false",
    # The operator replaces executor pods that have ended, with a backoff. The Master must keep the session until then.
    "spark.deploy.maxExecutorRetries": "-1",
}


@dataclass(frozen=True, slots=True)
class ExecutorPods(Cluster):
    """Cluster of the executors of one task, with the Master in the driver's JVM.

    Attributes:
        host: address of this pod, at which executors reach it.
        least, most: `min` and `max` of `spec.spark.executors`.
        each: number of parts of a batch that an executor delivers in parallel.
        memory: heap of an executor, in bytes.
        idle_seconds: time without a backlog after which executors are no longer requested.
    """

    host: str
    least: int
    most: int
    each: int
    memory: int
    idle_seconds: float

    @classmethod
    def at(cls, spec: SparkCluster, executors: Executors, host: str, idle_seconds: float) -> "ExecutorPods":
        """Return the executors of a task whose pod has this address.

        Raises:
            ConfigError: the file with the secret cannot be read, or is empty.
        """
        return cls(
            spec.master,
            secret_of(spec.secret_file, "Spark's secret"),
            spec.cores,
            bracketed(host),
            executors.min,
            executors.max,
            executors.resources.cores,
            spark_heap(executors.resources.memory),
            idle_seconds,
        )

    def settings(self) -> Mapping[str, str]:
        """Return Spark's settings for a session, except the secret: fixed ports, and the sizes of executors."""
        folders = os.environ.get(FOLDERS_VARIABLE)
        return {
            **executor_settings(self.host),
            "spark.driver.port": str(SPARK_DRIVER_PORT),
            "spark.driver.blockManager.port": str(SPARK_BLOCKS_PORT),
            "spark.blockManager.port": str(SPARK_BLOCKS_PORT),
            # Network policies allow these ports, and not the next ones.
            "spark.port.maxRetries": "0",
            "spark.executor.cores": str(self.each),
            "spark.executor.memory": f"{self.memory >> 20}m",
            # The images of plugins are mounted at the same folders there.
            **({f"spark.executorEnv.{FOLDERS_VARIABLE}": folders} if folders else {}),
        }


def cluster_of(executors: Executors, host: str, secret_file: str) -> SparkCluster:
    """Return the cluster for the spec of a task whose pod has this address."""
    return SparkCluster(
        master=f"spark://{bracketed(host)}:{SPARK_MASTER_PORT}",
        secret_file=secret_file,
        cores=executors.max * executors.resources.cores,
    )


class Master:
    """Spark's Master in the JVM of this process.

    Args:
        pods: executors of the task.
    """

    def __init__(self, pods: ExecutorPods) -> None:
        self._pods = pods
        self._runs_in: JavaGateway | None = None

    def start(self) -> None:
        """Start the Master, unless it already runs in this JVM. It accepts only processes that have the secret.

        Its web UI listens only on the loopback address, because SPARK_LOCAL_IP is set.

        Raises:
            Py4JError: the Master cannot be started; for example, the port is in use.
        """
        from pyspark import SparkContext

        gateway, jvm = SparkContext._gateway, SparkContext._jvm  # noqa: SLF001 (no public way to the JVM)
        assert gateway is not None
        if gateway is self._runs_in:
            return
        java: Any = jvm
        conf = java.org.apache.spark.SparkConf(False)
        for name, text in {**_MASTER, SECRET: self._pods.secret, "spark.port.maxRetries": "0"}.items():
            conf.set(name, text)
        start = java.org.apache.spark.deploy.master.Master.startRpcEnvAndEndpoint
        start(self._pods.host, SPARK_MASTER_PORT, 0, conf)
        self._runs_in = gateway
