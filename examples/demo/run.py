"""Demo without Kubernetes: lines of a growing file move through transforms into a real Kafka, and into another file.

`make demo` runs it. Ctrl-C stops it. Kill it at any time and start it again: each line of the file is in Kafka exactly once,
and in the file at the other end at least once. It counts at every start and at every end.
"""

import argparse
import collections
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
from local import penstock_run, records, say, stop_event

FOLDER = Path("penstock-demo")
LINES = FOLDER / "orders.txt"
OUT = FOLDER / "orders-out.txt"
TOPIC = "orders"
NUMBER = re.compile(rb"order (\d+):")


def main() -> int:
    """Run until Ctrl-C, or for `--seconds`. The exit code is 0 if the count is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="lines per second (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop after this many seconds")
    options = parser.parse_args()
    stopping = stop_event()
    FOLDER.mkdir(exist_ok=True)
    try:
        with EmbeddedKafka(FOLDER / "kafka") as kafka:
            say(
                f"Kafka listens on {kafka.bootstrap_servers}: any Kafka client can read topic '{TOPIC}' while this runs."
            )
            if LINES.exists():
                say("Found by earlier runs:")
                report(kafka.bootstrap_servers)
            say(f"Lines grow in {LINES}; watch the other end with: tail -f {OUT}")
            demonstrate(kafka, options.rate, options.seconds, stopping)
            say("Stopped. The count:")
            good = report(kafka.bootstrap_servers)
    except (ConnectError, KafkaException) as e:
        say(f"{e}\nThe count was not possible; records in transit arrive after the next start.")
        return 5
    say("Run `make demo` again to continue where it stopped. `rm -r penstock-demo` removes all data.")
    return 0 if good else 1


def demonstrate(kafka: EmbeddedKafka, rate: int, seconds: float | None, stopping: threading.Event) -> None:
    """Append lines to the file while `penstock run` moves them, then wait until all have arrived."""
    servers = kafka.bootstrap_servers
    number = last_number() + 1
    begun, written = time.monotonic(), 0
    manifest = Path(__file__).with_name("connectors.yaml")
    with penstock_run(manifest, servers, FOLDER) as process:
        with LINES.open("ab", buffering=0) as file:
            while not stopping.is_set() and process.poll() is None:
                elapsed = time.monotonic() - begun
                if seconds is not None and elapsed >= seconds:
                    break
                due = int(elapsed * rate) - written
                if due > 0:
                    file.write(b"".join(order(number + i) for i in range(due)))
                    number, written = number + due, written + due
                if not kafka.running:
                    say("Kafka was killed; restarting it. The connectors wait for it.")
                    kafka.start()
                stopping.wait(0.02)
        if process.poll() is not None:
            say(f"`penstock run` has exited ({process.returncode}); records in transit arrive after the next start.")
        elif not kafka.running:
            kafka.start()
        drain(servers, process)


def drain(servers: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until every line has arrived at the other end, 30 s at most."""
    deadline = time.monotonic() + 30
    last = last_number()
    while time.monotonic() < deadline and process.poll() is None:
        if OUT.exists() and f"order {last}:".encode() in tail(OUT):
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
    return missing == doubled == absent == 0


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
    end = tail(LINES)
    if not end.endswith(b"\n"):
        with LINES.open("r+b") as file:
            file.truncate(LINES.stat().st_size - len(end.rpartition(b"\n")[2]))
        return last_number()
    return int(NUMBER.findall(end)[-1])


def tail(path: Path) -> bytes:
    """Return the last bytes of a file."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
