"""A standalone cluster of Spark's, on whose executors a task's backlog is delivered (`penstock run --master`)."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, ConnectError
from penstock_model.contracts.task_spec import SparkCluster

__all__ = ["SECRET", "Cluster"]

SECRET: Final = "spark.authenticate.secret"  # noqa: S105 (its name)
"""The setting that stands in no command line: the JVM gets it when it runs."""
_CONNECTED: Final = 5.0
"""Seconds within which a Master answers."""


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
            ConnectError: no Master answers.
        """
        address = self._own_address()
        return {
            "spark.authenticate": "true",
            "spark.network.crypto.enabled": "true",
            "spark.io.encryption.enabled": "true",
            "spark.driver.host": address,
            "spark.driver.bindAddress": address,
            # An executor that is frozen is given up after that time; by default after two minutes.
            "spark.network.timeout": "60s",
            "spark.executor.heartbeatInterval": "5s",
            "spark.executor.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
            # Two executors that have one address may still have a disk each, as containers do.
            "spark.shuffle.readHostLocalDisk": "false",
            # Its folder would have to be there on every machine.
            "spark.python.unix.domain.socket.enabled": "false",
        }

    def _own_address(self) -> str:
        """The address from which this machine reaches the Master, or one of several: executors reach the driver there."""
        troubles = []
        for place in self.master.removeprefix("spark://").split(","):
            host, _, port = place.rpartition(":")
            try:
                with socket.create_connection((host.strip("[]"), int(port)), _CONNECTED) as connected:
                    own = str(connected.getsockname()[0])
            except OSError as e:
                troubles.append(f"{place}: {e.strerror or e}")
            else:
                return f"[{own}]" if ":" in own else own
        raise ConnectError(f"its Master does not answer ({'; '.join(troubles)})")
