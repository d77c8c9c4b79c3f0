"""Settings and environment of Spark's Worker in an executor's pod."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock_runtime.spark.cluster import SEALED, SECRET
from penstock_runtime.spark.session_conf import LOG_OPTION

__all__ = ["environment", "properties"]

_HEAP: Final = "128m"
"""Heap of the Worker, which only starts and watches its executor."""
_NOT_PASSED: Final = ("SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_WORKER_OPTS", "SPARK_DAEMON_CLASSPATH")
"""Variables of Spark that an image or a pod template may set, and that would change the Worker."""


def properties(secret: str, folder: Path) -> Mapping[str, str]:
    """Return the settings of the Worker.

    Args:
        secret: secret that it shares with the task's Master; executors receive it through their environment.
        folder: folder for all files that Spark writes.
    """
    return {
        **SEALED,
        SECRET: secret,
        "spark.local.dir": str(folder),
        # An executor's output is forwarded to that of the pod (`log_files`), so little of it must be kept.
        "spark.executor.logs.rolling.strategy": "size",
        "spark.executor.logs.rolling.maxSize": "4194304",
        "spark.executor.logs.rolling.maxRetainedFiles": "2",
        "spark.worker.cleanup.enabled": "true",
        "spark.worker.cleanup.appDataTtl": "3600",
        # By default, it exits after ten more attempts, of one minute each.
        "spark.worker.initialRegistrationRetries": "6",
        "spark.worker.maxRegistrationRetries": "10",
    }


def environment(inherited: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment of the Worker, which its executors and their Python workers inherit."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    options = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xss512k", LOG_OPTION)
    return {
        **{name: text for name, text in inherited.items() if name not in _NOT_PASSED},
        "SPARK_HOME": str(Path(found.origin).parent),
        "SPARK_CONF_DIR": str(folder),
        # For its web UI; everything else uses the address of the pod.
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": _HEAP,
        "SPARK_DAEMON_JAVA_OPTS": " ".join([*options, f"-Djava.io.tmpdir={folder}"]),
    }
