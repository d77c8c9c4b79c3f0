"""`penstock demo`: starts Kafka and the connectors, stops them, and counts the records."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from penstock.errors import ConnectError
from penstock_cli.demo import backlog
from penstock_cli.demo.backlog import Backlog, free_ports
from penstock_cli.demo.connectors import penstock_run, print_lines
from penstock_cli.demo.counts import Count, generated, in_file, in_topic, last_in_file
from penstock_cli.demo.folder import (
    BACKLOG,
    LOG,
    OUT,
    SINK,
    SOURCE,
    DemoFolder,
    require_room,
    write_manifests,
    write_new_manifests,
)
from penstock_cli.demo.options import DemoOptions
from penstock_cli.demo.screen import Steps, say
from penstock_cli.demo.stop_signal import StopSignal
from penstock_cli.demo.topics import create_topic, end_of
from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.java_home import find_java

__all__ = ["demo"]

_TOPIC: Final = "orders"
_CONSOLE: Final = 8090
_PERIOD: Final = 0.05  # seconds
_FIRST: Final = 120.0
"""Seconds to wait for the first record."""
_DELIVERY: Final = 60.0
"""Seconds without a new record after which no more records in transit are expected."""


def demo(options: DemoOptions) -> ExitCode:
    """Run until Ctrl-C or for the time in the options, and count the records.

    Raises:
        ConnectError: a prerequisite is missing; the message names the remedy.
    """
    if options.manifests is not None:
        names = write_new_manifests(options.manifests, rate=options.rate, has_backlog=options.backlog > 0)
        sys.stdout.writelines(f"{options.manifests / name}\n" for name in names)
        return ExitCode.OK
    steps = Steps(time.monotonic())
    stopping = StopSignal()
    find_java()  # before anything is written or downloaded
    folder = DemoFolder(options.keep)
    kafka = EmbeddedKafka(folder.kafka, say=steps.note, prepares=options.keep is not None)
    code = ExitCode.INTERRUPTED
    try:
        require_room(folder.path)
        with stopping.interrupting():
            kafka.start()
        code = _Demo(options, folder.path, kafka, stopping, steps).run()
    except KeyboardInterrupt:
        say("Interrupted before the count.")
    except KafkaException as e:
        raise ConnectError(f"cannot count the records: {e}") from e
    finally:
        kafka.stop()
        folder.leave(is_needed=code is ExitCode.FAILED)
    return code


class _Demo:
    """Demo on a running Kafka.

    Args:
        options: options of the command line.
        folder: folder of the data.
        kafka: the Kafka.
        stopping: set when the demo ends.
        steps: printer of the steps.
    """

    def __init__(
        self, options: DemoOptions, folder: Path, kafka: EmbeddedKafka, stopping: StopSignal, steps: Steps
    ) -> None:
        self._options, self._folder, self._kafka = options, folder, kafka
        self._stopping, self._steps = stopping, steps
        self._servers = kafka.bootstrap_servers
        self._has_backlog = options.backlog > 0 or (folder / BACKLOG).exists()
        self._failure: str | None = None
        write_manifests(folder, rate=options.rate, has_backlog=self._has_backlog)

    def run(self) -> ExitCode:
        """Run the connectors, and count."""
        for topic in (_TOPIC, *([backlog.TOPIC] if self._has_backlog else [])):
            create_topic(self._servers, topic)  # a sink looks for a missing topic only every few seconds
        self._steps.note(
            f"Kafka listens on {self._servers}: any Kafka client can read topic '{_TOPIC}' while this runs."
        )
        if (self._folder / OUT).is_file():
            say("Records of earlier runs:")
            self._report()
        names = [*([BACKLOG] if self._has_backlog else []), SOURCE, SINK]
        self._steps.note(f"Connectors: penstock run {' '.join(names)} (in {self._folder}). Ctrl-C ends it.")
        with self._steps.kept():
            self._show(names)
        if self._failure is not None:
            say(f"penstock: {self._failure}")
        else:
            self._deliver(names)
        say("The count:")
        is_right = self._report()
        if self._options.keep is None:
            say(
                "To try changes: `penstock demo --manifests DIR`, then `penstock run DIR/*.yaml` with the files in DIR."
            )
        return ExitCode.OK if is_right and self._failure is None else ExitCode.FAILED

    def _show(self, names: list[str]) -> None:
        """Run the connectors until it is time to stop. The backlog's connector is the first, and has the first port."""
        port = free_ports(len(names)) if self._has_backlog else 0
        arrival = Backlog(
            self._servers,
            port,
            self._folder / backlog.OUT,
            self._options.backlog,
            self._stopping,
            self._steps.note,
        )
        with self._running(*names, "--metrics-port", str(port), f"--console={_console_port()}") as process:
            if self._options.backlog:
                arrival.start()
            self._watch(process, arrival)
            self._stopping.set()
            if arrival.is_alive():
                arrival.join()
            if process.poll() is None and not self._kafka.running:
                self._kafka.start()
        if process.returncode != ExitCode.OK and self._failure is None:
            self._failure = f"`penstock run` exited with code {process.returncode}; see its last lines"

    def _watch(self, process: "subprocess.Popen[bytes]", arrival: Backlog) -> None:
        """Wait until it is time to stop."""
        begun, size, first = time.monotonic(), self._written(), None
        while process.poll() is None and not self._stopping.wait(_PERIOD):
            now = time.monotonic()
            if first is None and self._written() > size:
                first = now
                self._steps.note(f"The first record is in {OUT}.")
            if first is None and now - begun > _FIRST:
                self._failure = f"no record arrived within {_FIRST:.0f} s"
                return
            seconds = self._options.seconds
            if first is not None and seconds is not None and now - first >= seconds and not arrival.is_alive():
                return
            if not self._kafka.running:
                self._steps.note("Kafka was killed; restarting it. The connectors wait for it.")
                self._kafka.start()

    @contextmanager
    def _running(self, *words: str, is_shown: bool = True) -> Iterator["subprocess.Popen[bytes]"]:
        """Run connectors until the end of the context, with a table on a terminal, otherwise with lines."""
        lines = None
        shown = None if sys.stderr.isatty() else subprocess.PIPE
        with (self._folder / LOG).open("ab", buffering=0) as log:
            try:
                with penstock_run(
                    *words,
                    servers=self._servers,
                    folder=self._folder,
                    env={"PYTHONPATH": str(self._folder)} if self._has_backlog else None,  # depots.py
                    log=shown if is_shown else log,
                    cwd=self._folder,
                ) as process:
                    if process.stdout is not None:
                        lines = print_lines(process.stdout, log, self._steps.note)
                    yield process
            finally:
                if lines is not None:
                    lines.join()

    def _deliver(self, names: list[str]) -> None:
        """Deliver records that the source had sent and the sinks had not written when they were stopped."""
        orders = generated(self._folder / SOURCE, self._servers)
        history = end_of(self._servers, backlog.TOPIC) if self._has_backlog else 0

        def is_done() -> bool:
            return (
                last_in_file(self._folder / OUT) >= orders - 1
                and last_in_file(self._folder / backlog.OUT) >= history - 1
            )

        if is_done():
            return
        self._steps.note("Stopped. Delivering records in transit...")
        with self._running(*(name for name in names if name != SOURCE), is_shown=False) as process:
            size, moved = self._written(), time.monotonic()
            while not is_done() and process.poll() is None and time.monotonic() - moved < _DELIVERY:
                time.sleep(_PERIOD)
                if self._written() != size:
                    size, moved = self._written(), time.monotonic()

    def _written(self) -> int:
        """Return the number of bytes in the files of the sinks."""
        files = (self._folder / OUT, self._folder / backlog.OUT)
        return sum(file.stat().st_size for file in files if file.is_file())

    def _report(self) -> bool:
        """Print the counts. Return whether no record is missing, and none is duplicated in the topic."""
        orders = generated(self._folder / SOURCE, self._servers)
        found, last = in_topic(self._servers, _TOPIC)
        topic, file = Count.of(found, orders), Count.of(in_file(self._folder / OUT), orders)
        say(f"  source orders-in: {orders:,} orders, according to its offset in Kafka")
        say(f"  topic '{_TOPIC}' (read_committed): {topic.found:,} records, {topic}")
        say(f"  {OUT}: {file.found:,} lines, {file}")
        if last:
            say(f"  last record: {last.decode()}")
        is_right = topic.is_exact and file.is_complete
        if self._has_backlog:
            sent = end_of(self._servers, backlog.TOPIC)
            history = Count.of(in_file(self._folder / backlog.OUT), sent)
            say(f"  topic '{backlog.TOPIC}': {sent:,} records")
            say(f"  {backlog.OUT}: {history.found:,} lines, {history}")
            is_right &= history.is_complete
        return is_right


def _console_port() -> int:
    """Return the usual port of the console; 0 (any free port) if it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _CONSOLE))
        except OSError:
            return 0
    return _CONSOLE
