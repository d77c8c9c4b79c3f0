"""Kafka of `penstock run`: the user's, or an embedded one that all runs on the same data folder share."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from typing import Final, TypeVar

from penstock.errors import ConnectError, RetriableError
from penstock_cli.embedded import EmbeddedKafka
from penstock_cli.signals import Signals
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.logs import say
from penstock_runtime.process.abandonable import start

__all__ = ["kafka_for", "revive", "until_kafka_answers"]

T = TypeVar("T")

log = logging.getLogger(__name__)
_TIMEOUT: Final = 60.0
_MESSAGE_AFTER: Final = 2.0


def kafka_for(worker: WorkerConfig, data_dir: Path) -> tuple[EmbeddedKafka | None, WorkerConfig]:
    """Return the embedded Kafka, or None if another one is used, and the worker configuration with its address."""
    kafka = EmbeddedKafka(data_dir, say=say)
    if worker.bootstrap_servers is not None:
        return (kafka if kafka.joins(worker.bootstrap_servers) else None), worker
    runner = "" if kafka.share() else " (another process runs it)"
    say(f"Kafka listens on {kafka.bootstrap_servers}, its data is in {data_dir}{runner}")
    return kafka, _with_servers(worker, kafka.bootstrap_servers)


def revive(kafka: EmbeddedKafka | None) -> None:
    """Start the embedded Kafka again if it died, or take it over if the process that ran it has ended. Tasks wait for it."""
    if kafka is None or kafka.running:
        return
    if kafka.lost:
        log.error(
            "Restarting the embedded Kafka, which exited unexpectedly; its log is %s", kafka.data_dir / "kafka.log"
        )
        kafka.share()
    elif kafka.take_over():
        say(f"The process that ran Kafka on {kafka.bootstrap_servers} has ended; this one runs it now.")


def until_kafka_answers(
    work: Callable[[], T], worker: WorkerConfig, signals: Signals, kafka: EmbeddedKafka | None
) -> T:
    """Call `work` until Kafka answers. It runs in a thread, so that Ctrl-C takes effect while a client waits.

    Raises:
        SystemExit: Ctrl-C or SIGTERM was received.
        ConnectError: Kafka has not answered for a minute, or rejects the request.
    """
    begun, is_announced = time.monotonic(), False
    trouble: RetriableError | None = None
    while True:
        outcome = start(work, "until-kafka-answers")
        while not outcome.done():
            wait([outcome], timeout=0.1)
            revive(kafka)
            waited = time.monotonic() - begun
            if signals.asked:
                raise SystemExit(ExitCode.INTERRUPTED if signals.count > 1 else ExitCode.OK)
            if waited > _MESSAGE_AFTER and not is_announced:
                is_announced = True
                say(f"Waiting for Kafka at {worker.bootstrap_servers} ...")
            if waited > _TIMEOUT:
                raise ConnectError(
                    f"cannot reach Kafka at {worker.bootstrap_servers}: no answer within {_TIMEOUT:.0f} s"
                    f"{f' ({trouble})' if trouble else ''}; check --bootstrap-servers, the network and the security "
                    f"properties"
                )
        try:
            return outcome.result()
        except RetriableError as e:
            trouble = e
            time.sleep(0.5)


def _with_servers(worker: WorkerConfig, servers: str) -> WorkerConfig:
    """Return the worker configuration for the embedded broker: its address, and one replica of internal topics."""
    replicas = {"offset.storage.replication.factor": "1", "status.storage.replication.factor": "1"}
    return WorkerConfig.parse({**worker.raw, **replicas, "bootstrap.servers": servers})
