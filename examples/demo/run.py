"""Demo without Kubernetes: lines of a growing file move through transforms into a real Kafka, and into another file.

`make demo-local` runs it. Ctrl-C stops it. Kill it at any time and start it again: each line of the file is in Kafka exactly
once, and in the file at the other end at least once. It counts at every start and at every end.

After a few seconds a backlog of a million orders arrives in another topic. Its connector starts Spark, whose workers run a
transform (`depots`) in parallel, and Spark ends when it is idle (`backlog`).
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaException

from penstock.errors import ConnectError
from penstock_cli.embedded import EmbeddedKafka

sys.path.append(str(Path(__file__).parents[1] / "shared"))
import backlog
from local import last_bytes, penstock_run, records, say, stop_event

HERE = Path(__file__).parent
TASKS = 3  # of connectors.yaml
FOLDER = Path("penstock-demo")
LINES = FOLDER / "orders.txt"
OUT = FOLDER / "orders-out.txt"
TOPIC = "orders"
NUMBER = re.compile(rb"order (\d+):")


def main() -> int:
    """Run until Ctrl-C, or for `--seconds`. The exit code is 0 if the count is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="lines per second (default %(default)s)")
    parser.add_argument(
        "--seconds", type=float, help="stop after this many seconds, but not before the backlog's steps"
    )
    parser.add_argument(
        "--backlog", type=int, default=1_000_000, help="orders of the backlog (default %(default)s); 0: no backlog"
    )
    options = parser.parse_args()
    stopping = stop_event()
    FOLDER.mkdir(exist_ok=True)
    try:
        with EmbeddedKafka(FOLDER / "kafka") as kafka:
            say(
                f"Kafka listens on {kafka.bootstrap_servers}: any Kafka client can read topic '{TOPIC}' while this runs."
            )
            backlog.create_topic(kafka.bootstrap_servers)
            if LINES.exists():
                say("Found by earlier runs:")
                report(kafka.bootstrap_servers)
            say(f"Lines grow in {LINES}; watch the other end with: tail -f {OUT}")
            if options.backlog:
                say(f"After some seconds a backlog arrives for {backlog.CONNECTOR}, which starts Spark.")
            demonstrate(kafka, options, stopping)
            say("Stopped. The count:")
            good = report(kafka.bootstrap_servers)
    except (ConnectError, KafkaException) as e:
        say(f"{e}\nThe count was not possible; records in transit arrive after the next start.")
        return 5
    say("Run `make demo-local` again to continue where it stopped. `rm -r penstock-demo` removes all data.")
    return 0 if good else 1


class Steps:
    """Printer of steps. `penstock run` draws a table on a terminal, so they are printed there when the table has ended."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._later: list[str] = []

    def note(self, text: str) -> None:
        """Print a step, now or at the end."""
        line = f"{time.monotonic() - self._begun:7.1f} s {text}"
        if sys.stderr.isatty():
            self._later.append(line)
        else:
            say(line)

    def end(self) -> None:
        """Print what has not been printed."""
        for line in self._later:
            say(line)


def demonstrate(kafka: EmbeddedKafka, options: argparse.Namespace, stopping: threading.Event) -> None:
    """Append lines to the file while `penstock run` moves them, then wait until all have arrived."""
    servers, steps, port = kafka.bootstrap_servers, Steps(), backlog.free_ports(TASKS)
    arrival = backlog.Backlog(servers, port, options.backlog, stopping, steps.note)
    path = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    command = (HERE / "connectors.yaml", servers, FOLDER, "--metrics-port", str(port))
    try:
        with penstock_run(*command, env={"PYTHONPATH": path}) as process:
            if options.backlog:
                arrival.start()
            append(kafka, process, options, stopping, arrival)
            stopping.set()
            if arrival.is_alive():
                arrival.join()
            if process.poll() is not None:
                say(
                    f"`penstock run` has exited ({process.returncode}); records in transit arrive after the next start."
                )
            elif not kafka.running:
                kafka.start()
            drain(servers, process)
    finally:
        steps.end()


def append(
    kafka: EmbeddedKafka,
    process: "subprocess.Popen[bytes]",
    options: argparse.Namespace,
    stopping: threading.Event,
    arrival: threading.Thread,
) -> None:
    """Append lines to the file until it is time to stop."""
    number, begun, written = last_number() + 1, time.monotonic(), 0
    with LINES.open("ab", buffering=0) as file:
        while not stopping.is_set() and process.poll() is None:
            elapsed = time.monotonic() - begun
            if options.seconds is not None and elapsed >= options.seconds and not arrival.is_alive():
                break
            due = int(elapsed * options.rate) - written
            if due > 0:
                file.write(b"".join(order(number + i) for i in range(due)))
                number, written = number + due, written + due
            if not kafka.running:
                say("Kafka was killed; restarting it. The connectors wait for it.")
                kafka.start()
            stopping.wait(0.02)


def drain(servers: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until everything has arrived at the other end, a minute at most."""
    deadline = time.monotonic() + 60
    last, orders = last_number(), backlog.written(servers)
    while time.monotonic() < deadline and process.poll() is None:
        if OUT.exists() and f"order {last}:".encode() in last_bytes(OUT) and backlog.delivered() >= orders:
            return
        time.sleep(0.1)


def report(servers: str) -> bool:
    """Count lines in the file, records in Kafka and lines at the other end; print them, and return whether all is right."""
    lines = last_number() + 1
    in_kafka, sample = read_topic(servers)
    missing = sum(1 for n in range(lines) if n not in in_kafka)
    doubled = sum(count - 1 for count in in_kafka.values())
    out = collections.Counter(map(int, NUMBER.findall(OUT.read_bytes()))) if OUT.exists() else collections.Counter()
    absent = sum(1 for n in range(lines) if n not in out)
    say(f"  {LINES}: {lines} lines")
    say(f"  topic '{TOPIC}' (read_committed): {sum(in_kafka.values())} records, {missing} missing, {doubled} doubled")
    say(f"  {OUT}: {sum(out.values())} lines, {absent} missing, {sum(out.values()) - len(out)} written again")
    if sample:
        say(f"  the last record: {sample.decode()}")
    return backlog.report(servers) and missing == doubled == absent == 0


def read_topic(servers: str) -> tuple["collections.Counter[int]", bytes]:
    """Return how often each order number occurs in the topic, and the last value."""
    found: collections.Counter[int] = collections.Counter()
    last = b""
    for message in records(servers, TOPIC):
        last = message.value() or b""
        found.update(map(int, NUMBER.findall(last)))
    return found, last


def order(number: int) -> bytes:
    """Return one line."""
    return f"order {number}: {1 + number % 7} x article {number * 7919 % 1000}\n".encode()


def last_number() -> int:
    """Return the number of the last complete line, or -1 if there is none. A line that a kill cut short is removed first."""
    if not LINES.exists() or not LINES.stat().st_size:
        return -1
    end = last_bytes(LINES)
    if not end.endswith(b"\n"):
        with LINES.open("r+b") as file:
            file.truncate(LINES.stat().st_size - len(end.rpartition(b"\n")[2]))
        return last_number()
    return int(NUMBER.findall(end)[-1])


if __name__ == "__main__":
    sys.exit(main())
