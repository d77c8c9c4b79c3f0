"""A standalone cluster of Spark's, on whose executors a task's backlog is delivered (`penstock run --master`)."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ConfigError, ConnectError
from penstock_model.contracts.task_spec import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Cluster", "Executors"]

log = logging.getLogger(__name__)

SECRET: Final = "spark.authenticate.secret"  # noqa: S105 (its name)
"""The setting that stands in no command line: the JVM gets it when it runs."""
_LOOK: Final = 0.5
"""Seconds between two looks for the first executor."""
_LEFT_ALONE: Final = 10.0
"""Seconds that a job waits for an executor once there is none: a Worker starts another in the place of one that ended."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where it is, and what a task may take of it.

    Attributes:
        master: `spark://host:port`, or several hosts of one cluster, with commas.
        secret: what its processes share.
        cores: the most that this task takes.
    """

    master: str
    secret: str = field(repr=False)
    cores: int

    @classmethod
    def of(cls, spec: SparkCluster) -> "Cluster":
        """The cluster of a task spec.

        Raises:
            ConfigError: the file with the secret cannot be read, or is empty.
        """
        try:
            secret = Path(spec.secret_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigError(f"--master-secret {spec.secret_file} cannot be read: {e}") from e
        if not secret:
            raise ConfigError(f"--master-secret {spec.secret_file} is empty: it holds Spark's {SECRET}")
        return cls(spec.master, secret, spec.cores)

    def settings(self) -> Mapping[str, str]:
        """Spark's settings for a session there, but for the secret.

        Payloads hold the connector's passwords: all that passes is authenticated and encrypted, and none is written to disk
        as it is.

        Raises:
            ConnectError: the name of the Master is not known.
        """
        address = self._own_address()
        return {
            "spark.authenticate": "true",
            "spark.network.crypto.enabled": "true",
            "spark.io.encryption.enabled": "true",
            "spark.cores.max": str(self.cores),
            "spark.driver.host": address,
            "spark.driver.bindAddress": address,
            # An executor that is frozen is given up after that time; by default after two minutes.
            "spark.network.timeout": "60s",
            "spark.executor.heartbeatInterval": "5s",
            "spark.executor.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
            # Its folder would have to be there on every machine.
            "spark.python.unix.domain.socket.enabled": "false",
        }

    def _own_address(self) -> str:
        """The address from which this machine reaches the Master: executors reach the driver there."""
        host, _, port = self.master.removeprefix("spark://").partition(",")[0].rpartition(":")
        try:
            (family, kind, _, _, there), *_ = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
            with socket.socket(family, kind) as probe:
                probe.connect(there)  # sends nothing
                own = str(probe.getsockname()[0])
        except OSError as e:
            raise ConnectError(f"The address of Spark's Master {self.master} is not known: {e}") from e
        return f"[{own}]" if ":" in own else own


class Executors:
    """The executors of a session on a cluster, as many as there are now.

    Args:
        session: of the task.
        cluster: of the session.
    """

    def __init__(self, session: "SparkSession", cluster: Cluster) -> None:
        self._session = session
        self._cluster = cluster
        self._told: int | None = None
        self._none_since: float | None = None

    def cores(self) -> int:
        """How many cores they have, at most those that the task may take; 0: there is no executor, or Java is gone."""
        try:
            found = sum(self._cores_of_each())
        except Exception as e:  # noqa: BLE001 (no answer is the answer)
            log.debug("Spark does not say which executors there are: %s", e)
            found = 0
        self._tell(found)
        return min(found, self._cluster.cores)

    def wait(self, is_over: Callable[[], bool]) -> bool:
        """Wait until there is one; False: `is_over` is true by then."""
        waiting = threading.Event()
        while not is_over():
            if self.cores():
                return True
            waiting.wait(_LOOK)
        return False

    def have_gone(self) -> bool:
        """Whether there has been none for so long that a job which runs would wait for ever. To be asked again and again."""
        if self.cores():
            self._none_since = None
            return False
        now = time.monotonic()
        if self._none_since is None:
            self._none_since = now
        return now - self._none_since > _LEFT_ALONE

    def _cores_of_each(self) -> list[int]:
        java: Any = self._session.sparkContext._jsc  # noqa: SLF001 (no public way to ask the JVM)
        found = java.sc().statusStore().executorList(True)
        each = (found.apply(number) for number in range(found.size()))
        return [int(executor.totalCores()) for executor in each if executor.id() != "driver"]

    def _tell(self, cores: int) -> None:
        if cores == self._told or (self._told is None and not cores):
            return
        if cores:
            log.info("Executors of %s: %d cores.", self._cluster.master, cores)
        else:
            log.warning("No executor of %s is left: the driver goes on alone until there is one.", self._cluster.master)
        self._told = cores
