"""`penstock run --master`: selects the tasks that deliver their backlog on a Spark cluster, and their settings."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.task_spec import SparkCluster, TaskSpec
from penstock_model.resources.spark_settings import refused_on_cluster
from penstock_runtime.logs import say
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.spark.cluster import Cluster
from penstock_runtime.spark.executor_support import reason_against_executors

__all__ = ["ClusterOptions", "cluster_options", "on_cluster"]

_MASTER: Final = re.compile(
    r"spark://(\[[0-9A-Fa-f:]+\]|[^/\s:,\[\]]+):\d{1,5}(,(\[[0-9A-Fa-f:]+\]|[^/\s:,\[\]]+):\d{1,5})*"
)
_CORES: Final = "spark.cores.max"
_MOST: Final = 8
"""Default number of cluster cores for a task; Spark's default is all of them."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of the command line for the cluster.

    Attributes:
        cluster: Spark cluster of every task that can use one.
        conf: Spark settings there, which override `spec.spark.conf`.
    """

    cluster: SparkCluster
    conf: Mapping[str, str]


def cluster_options(master: str | None, secret: Path | None, settings: Sequence[str]) -> ClusterOptions | None:
    """Return the values of `--master`, `--master-secret` and `--spark-conf`; None if there is no cluster.

    Raises:
        ConfigError: an option is invalid; the error lists all problems.
    """
    if problems := [*_problems(master, secret, settings)]:
        raise ConfigError(problems)
    if master is None or secret is None:
        return None
    conf = _pairs(settings)
    cores = conf.pop(_CORES, str(_MOST))
    return ClusterOptions(SparkCluster(master=master, secret_file=str(secret.absolute()), cores=int(cores)), conf)


def _problems(master: str | None, secret: Path | None, settings: Sequence[str]) -> Iterator[Problem]:
    if master is None:
        if secret is not None:
            yield Problem("--master-secret", "has an effect only with --master")
        if settings:
            yield Problem("--spark-conf", "has an effect only with --master; without a cluster write spec.spark.conf")
        return
    if not _MASTER.fullmatch(master) or not all(
        0 < int(port) < 65_536 for port in re.findall(r":(\d+)(?:,|$)", master)
    ):
        yield Problem("--master", f"{master} is not a standalone Spark cluster; write spark://HOST:PORT")
    if secret is None:
        yield Problem(
            "--master-secret",
            "is missing: data sent to executors contains the connector's passwords, so the cluster needs "
            "spark.authenticate=true and spark.network.crypto.enabled=true; name a file with its spark.authenticate.secret",
        )
    else:
        try:
            Cluster.of(SparkCluster(master=master, secret_file=str(secret), cores=1))
        except ConfigError as e:
            yield from e.problems
    for text in settings:
        if not re.match(r"spark\.[^=\s]+=", text):
            yield Problem("--spark-conf", f"{text.partition('=')[0]} is not a Spark setting; write spark.NAME=VALUE")
    conf = _pairs(settings)
    yield from refused_on_cluster(conf)
    if not re.fullmatch(r"[1-9]\d{0,2}", conf.get(_CORES, "1")):
        yield Problem(f"--spark-conf {_CORES}", f"{conf[_CORES]} is not a number of cores from 1 to 999")
    for name in ("spark.executor.memory", "spark.driver.memory"):
        if not re.fullmatch(r"(?i)[1-9]\d*([kmgt]b?)?", conf.get(name, "1")):
            yield Problem(f"--spark-conf {name}", f"{conf[name]} is not a size; write 2g or 512m")


def _pairs(settings: Sequence[str]) -> dict[str, str]:
    return {name: text for name, _, text in (each.partition("=") for each in settings)}


def on_cluster(specs: Sequence[TaskSpec], context: TaskContext, options: ClusterOptions | None) -> list[TaskSpec]:
    """Return the tasks of a connector, with the cluster if they can use it; if not, log the reason.

    Args:
        specs: specs of the connector's tasks.
        context: context of one of them.
        options: cluster options of the run.
    """
    if options is None:
        if context.task_settings.spark.executors is not None:
            say(
                f"{context.spec.connector}: spec.spark.executors has an effect on Kubernetes only, so its backlog is "
                f"delivered on this machine; use --master for a Spark cluster",
                level=logging.WARNING,
            )
        return [*specs]
    if reason := reason_against_executors(context):
        say(
            f"{context.spec.connector}: its backlog is delivered on this machine instead of {options.cluster.master}: "
            f"{reason}",
            level=logging.WARNING,
        )
        return [*specs]
    return [
        s.model_copy(
            update={
                "settings": _with_conf(s.settings, options.conf),
                "spark_cluster": options.cluster,
            }
        )
        for s in specs
    ]


def _with_conf(settings: Mapping[str, Any], conf: Mapping[str, str]) -> dict[str, Any]:
    spark = settings.get("spark") or {}
    return {**settings, "spark": {**spark, "conf": {**(spark.get("conf") or {}), **conf}}}
