"""Settings of a task's Spark session: among others, Spark never repeats a stage that delivers records."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from penstock_model.resources.spark_settings import reason_against
from penstock_runtime.process import cgroup
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark import class_archive
from penstock_runtime.spark.cluster import Cluster
from penstock_runtime.spark.executor_pods import ExecutorPods
from penstock_runtime.spark.jvm_heap import spark_heap

__all__ = ["LOG_OPTION", "USER", "has_named_user", "session_conf"]

LOG_OPTION: Final = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
"""Option of a JVM of Spark: errors only, as JSON lines."""

_CONF: Final[Mapping[str, str]] = {
    # Without it each hop between JVM and Python waits 40 ms for a delayed acknowledgment.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Kept in the heap even without the UI: a thousand of each by default.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "penstock_runtime.spark_daemon",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # A row may be large. Data sent to a worker that is lost stays in Java's direct memory permanently.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4194304",
    # "Default", so that they apply together with a user's `spark.driver.extraJavaOptions`. Java's performance data would
    # be written outside the folder.
    "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MaxMetaspaceSize=256m -Xss512k "
    f"-XX:-UsePerfData {LOG_OPTION}",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
}
USER: Final = "penstock"
"""User name for Spark's JVM if the user of this process has none."""


def session_conf(user_conf: Mapping[str, str], scratch: Scratch, cluster: Cluster | None = None) -> dict[str, Any]:
    """Return all settings of the session, except the secret of a cluster.

    Args:
        user_conf: `spec.spark.conf`, which overrides Penstock's settings. Settings that a plan refuses have no effect:
            the plan may be of an earlier release, which did not refuse them.
        scratch: folder for all files that Spark writes on this machine.
        cluster: cluster that runs the workers; None: they run on this machine.

    Raises:
        ConnectError: no Master of the cluster answers.
    """
    in_pods = isinstance(cluster, ExecutorPods)
    on_cluster = cluster is not None and not in_pods
    allowed = {
        n: text for n, text in user_conf.items() if reason_against(n, on_cluster=on_cluster, in_pods=in_pods) is None
    }
    if cluster is None:
        return {**_CONF, **_sizes(), **_places(scratch), **allowed}
    cores = {"spark.cores.max": str(cluster.cores)}
    given = dict(cluster.settings())
    if in_pods:  # the same image has the same file
        given["spark.executor.defaultJavaOptions"] += f" {LOG_OPTION}"
    return {**_CONF, **_sizes(), **_places(scratch), **given, **allowed, **cores}


def has_named_user() -> bool:
    """Return whether the user of this process has a name; in a container it may be only a number."""
    return _home() is not None


def _sizes() -> dict[str, str]:
    """Return the settings that depend on the container's memory limit."""
    return {"spark.driver.memory": f"{spark_heap(cgroup.memory_limit()) >> 20}m"}


def _places(scratch: Scratch) -> dict[str, str]:
    """Return the settings that keep all files of Spark in one folder."""
    options = " ".join(
        (_CONF["spark.driver.defaultJavaOptions"], f'"-Djava.io.tmpdir={scratch.path}"', *_identity(scratch.path))
    )
    sockets = scratch.sockets
    return {
        "spark.local.dir": str(scratch.path),
        "spark.sql.warehouse.dir": (scratch.path / "warehouse").as_uri(),
        **class_archive.settings(options),
        **(
            {"spark.python.unix.domain.socket.enabled": "false"}
            if sockets is None
            else {"spark.python.unix.domain.socket.dir": str(sockets)}
        ),
    }


def _identity(folder: Path) -> list[str]:
    """Return options of a JVM for a user without a name, or without a writable home."""
    options, home = [], _home()
    if home is None:
        for variable in ("SPARK_USER", "HADOOP_USER_NAME"):
            os.environ.setdefault(variable, USER)
        options.append(f"-Duser.name={USER}")  # Java's default is `?`
    if home is None or not os.access(home, os.W_OK):
        options.append(f'"-Duser.home={folder}"')
    return options


def _home() -> str | None:
    """Return the home of this process's user; None: the user has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
