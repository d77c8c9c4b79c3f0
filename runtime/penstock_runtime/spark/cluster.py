"""Standalone Spark cluster on whose executors a task's backlog is delivered (`penstock run --master`)."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, ConnectError
from penstock_model.contracts.task_spec import SparkCluster

__all__ = ["SEALED", "SECRET", "SECRET_VARIABLE", "Cluster", "bracketed", "executor_settings", "secret_of"]

SECRET: Final = "spark.authenticate.secret"  # noqa: S105 (its name)
"""Setting that is never part of a command line: the JVM receives it after its start."""
SECRET_VARIABLE: Final = "PENSTOCK_SPARK_SECRET"  # noqa: S105 (its name)
"""Environment variable of a pod with the path of the secret's file, instead of `pod_layout.SPARK_SECRET_FILE`."""
SEALED: Final[Mapping[str, str]] = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.io.encryption.enabled": "true",
}
"""Settings with which all traffic is authenticated and encrypted, and nothing is written to disk unencrypted: payloads
contain the connector's passwords."""
_CONNECTED: Final = 5.0
"""Seconds within which a Master must answer."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Cluster, and the resources that a task may use on it.

    Attributes:
        master: `spark://host:port`, or several hosts of one cluster, separated by commas.
        secret: secret that its processes share.
        cores: maximum number of cores that this task uses.
    """

    master: str
    secret: str = field(repr=False)
    cores: int

    @classmethod
    def of(cls, spec: SparkCluster) -> "Cluster":
        """Return the cluster of a task spec.

        Raises:
            ConfigError: the file with the secret cannot be read, or is empty.
        """
        return cls(spec.master, secret_of(spec.secret_file, "--master-secret"), spec.cores)

    def settings(self) -> Mapping[str, str]:
        """Return Spark's settings for a session on this cluster, except the secret.

        Raises:
            ConnectError: no Master answers.
        """
        return executor_settings(self._own_address())

    def _own_address(self) -> str:
        """Return the address from which this machine reaches a Master, and at which executors reach the driver."""
        troubles = []
        for place in self.master.removeprefix("spark://").split(","):
            host, _, port = place.rpartition(":")
            try:
                with socket.create_connection((host.strip("[]"), int(port)), _CONNECTED) as connected:
                    own = str(connected.getsockname()[0])
            except OSError as e:
                troubles.append(f"{place}: {e.strerror or e}")
            else:
                return bracketed(own)
        raise ConnectError(f"its Master does not answer ({'; '.join(troubles)})")


def executor_settings(address: str) -> Mapping[str, str]:
    """Return Spark's settings for a session with executors that reach the driver at this address, except the secret."""
    return {
        **SEALED,
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        # A frozen executor counts as lost after this time; the default is two minutes.
        "spark.network.timeout": "60s",
        "spark.executor.heartbeatInterval": "5s",
        "spark.executor.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
        # Executors with the same address may still have separate disks, as containers do.
        "spark.shuffle.readHostLocalDisk": "false",
        # Its folder would have to exist on every machine.
        "spark.python.unix.domain.socket.enabled": "false",
    }


def secret_of(file: str, called: str) -> str:
    """Return the secret in a file.

    Args:
        file: path of the file.
        called: name of the secret in messages.

    Raises:
        ConfigError: the file cannot be read, or is empty.
    """
    try:
        secret = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read {called} {file}: {e}") from e
    if not secret:
        raise ConfigError(f"cannot use {called} {file}: it is empty; write Spark's {SECRET} into it")
    return secret


def bracketed(address: str) -> str:
    """Return an address as Spark requires it: an IPv6 address in brackets."""
    return f"[{address}]" if ":" in address and not address.startswith("[") else address
