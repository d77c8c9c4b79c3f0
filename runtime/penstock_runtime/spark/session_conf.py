"""The settings of a task's Spark session. Spark never repeats a stage that delivers records."""

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

__all__ = ["USER", "has_named_user", "session_conf"]

_CONF: Final[Mapping[str, str]] = {
    # Without it each hop between JVM and Python waits 40 ms for a delayed acknowledgement.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Kept in the heap also without the UI: a thousand of each by default.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "penstock_runtime.spark_daemon",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # A row may be large. What goes to a worker that is lost stays in Java's direct memory for good.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4194304",
    # "Default", so that they hold beside a user's own `spark.driver.extraJavaOptions`. Java's performance data would be
    # written outside the folder.
    "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MaxMetaspaceSize=256m -Xss512k "
    f"-XX:-UsePerfData -Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
}
USER: Final = "penstock"
"""The name for a user without one."""


def session_conf(user_conf: Mapping[str, str], scratch: Scratch, cluster: Cluster | None = None) -> dict[str, Any]:
    """All settings of the session, but for the secret of a cluster.

    Args:
        user_conf: `spec.spark.conf`; it goes before Penstock's own settings. Those that a plan refuses have no effect: the
            plan may be one of an earlier release, which did not refuse them.
        scratch: the folder of all that Spark writes on this machine.
        cluster: where the workers are; None: here.

    Raises:
        ConnectError: no Master of the cluster answers.
    """
    on_cluster = cluster is not None
    allowed = {n: text for n, text in user_conf.items() if reason_against(n, on_cluster=on_cluster) is None}
    if cluster is None:
        return {**_CONF, **_sizes(), **_places(scratch), **allowed}
    cores = {"spark.cores.max": str(cluster.cores)}
    return {**_CONF, **_sizes(), **_places(scratch), **cluster.settings(), **allowed, **cores}


def has_named_user() -> bool:
    """Whether the user of this process has a name; a container's may be a mere number."""
    return _home() is not None


def _sizes() -> dict[str, str]:
    """The settings that follow the container's memory limit."""
    return {"spark.driver.memory": f"{cgroup.heap(cgroup.memory_limit()) >> 20}m"}


def _places(scratch: Scratch) -> dict[str, str]:
    """The settings that keep all files of Spark in one folder."""
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
    """Options of a JVM whose user has no name, or no home that can be written."""
    options, home = [], _home()
    if home is None:
        for variable in ("SPARK_USER", "HADOOP_USER_NAME"):
            os.environ.setdefault(variable, USER)
        options.append(f"-Duser.name={USER}")  # Java's default is `?`
    if home is None or not os.access(home, os.W_OK):
        options.append(f'"-Duser.home={folder}"')
    return options


def _home() -> str | None:
    """The home of this process's user; None: the user has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
