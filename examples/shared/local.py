"""Shared parts of the demos without Kubernetes: `penstock run` as a child, records of a topic, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from penstock.errors import ConnectError

__all__ = ["last_bytes", "penstock_run", "records", "say", "stop_event", "watch"]

_PROGRAM = (
    "import sys; from penstock_cli.__main__ import main; from penstock_runtime.process import children;"
    "children.die_with_parent(); sys.exit(main())"
)
_STOP = 30  # seconds


def say(text: str) -> None:
    """Print a line for the user."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def stop_event() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopping


@contextmanager
def penstock_run(
    manifest: Path,
    servers: str,
    folder: Path,
    *options: str | Path,
    env: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run `penstock run` until the end of the context. It also ends with this process, even if this process is killed.

    Args:
        manifest: the manifest to run.
        servers: the Kafka brokers.
        folder: the folder for data.
        options: further options.
        env: variables added to the environment of this process.
        log: file for the output; None for standard error.
    """
    words = ["run", manifest, "--bootstrap-servers", servers, "--data-dir", folder, "--log-level", "WARNING", *options]
    # In a separate process group, so that Ctrl-C reaches only us, and the connectors stop after the last record.
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *words],
        start_new_session=True,
        env={**os.environ, **(env or {})},
        stdout=log,
        stderr=log,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def last_bytes(path: Path) -> bytes:
    """Return the last bytes of a file."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read()


def watch(servers: str, topic: str) -> Consumer | None:
    """Return a consumer of committed records at the beginning of a topic, or None if the topic does not exist yet.

    At the end of each partition it returns a message with the error _PARTITION_EOF.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "demo-count",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    found = consumer.list_topics(timeout=10).topics.get(topic)
    if found is None:
        consumer.close()
        return None
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found.partitions])
    return consumer


def records(servers: str, topic: str) -> Iterator[Message]:
    """Yield the committed records of a topic, from its beginning to its current end.

    Raises:
        ConnectError: the topic cannot be read.
    """
    consumer = watch(servers, topic)
    if consumer is None:
        return
    try:
        left = len(consumer.assignment())
        while left:
            message = consumer.poll(10)
            if message is None:
                raise ConnectError(f"Reading topic '{topic}': Kafka does not answer")
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (the client's own name of the code)
                left -= 1
            else:
                raise ConnectError(f"Reading topic '{topic}': {error}")
    finally:
        consumer.close()
