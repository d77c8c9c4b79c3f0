"""Change data capture: Debezium's connector, unmodified, reads the changes of a PostgreSQL into a topic, exactly once.

`make demo-cdc` runs it. PostgreSQL, Kafka and the connector start empty each time. Orders are inserted, updated and deleted,
a column is added, and the JVM of the connector is killed. Ctrl-C stops the changes; when the last one is in the topic, the
topic is compared with a journal in the database. With `--cluster`, examples/cluster/cdc.py runs instead.
"""

import argparse
import fcntl
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from confluent_kafka import KafkaException

from penstock.errors import ConnectError
from penstock_cli.demo.connectors import penstock_run
from penstock_cli.demo.screen import say
from penstock_cli.demo.stop_signal import StopSignal
from penstock_cli.demo.topics import records
from penstock_cli.embedded import EmbeddedKafka

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from debezium import LATEST, archive
from events import counted, event_of, row
from play import Play
from postgresql import PostgreSQL, programs
from shop import SEED, TOPIC, Shop

FOLDER = Path("penstock-cdc")
MANIFEST = Path(__file__).with_name("connector.yaml")


def main() -> int:
    """Run until Ctrl-C, or for `--seconds`.

    Returns:
        0 if the count is right, 1 if it is wrong, 5 if nothing could be counted, 130 if the start was interrupted.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="changes per second (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop this many seconds after the snapshot")
    parser.add_argument(
        "--cluster", action="store_true", help="two versions side by side, on the cluster of `make demo`"
    )
    options = parser.parse_args()
    if options.cluster:
        words = [f"--{name}={value}" for name in ("rate", "seconds") if (value := getattr(options, name)) is not None]
        program = Path(__file__).parents[1] / "cluster" / "cdc.py"
        os.execv(sys.executable, [sys.executable, str(program), *words])  # noqa: S606
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with own_folder() as folder:
            good = demonstrate(folder, options.rate, options.seconds)
    except (ConnectError, KafkaException, psycopg.Error) as e:
        say(f"{e}\nThe count was not possible.")
        return 5
    except KeyboardInterrupt:
        say("Stopped before records moved.")
        return 130
    return 0 if good else 1


@contextmanager
def own_folder() -> Iterator[Path]:
    """Create a folder for this run, and remove those of earlier runs, which may have been killed.

    Raises:
        ConnectError: another run is in progress.
    """
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConnectError(f"`make demo-cdc` already runs here (it holds {FOLDER / 'lock'})") from None
        for earlier in FOLDER.glob("run-*"):
            shutil.rmtree((earlier / "postgresql").resolve(), ignore_errors=True)
            shutil.rmtree(earlier, ignore_errors=True)
        yield Path(tempfile.mkdtemp(prefix="run-", dir=FOLDER)).resolve()


def demonstrate(folder: Path, rate: int, seconds: float | None) -> bool:
    """Start everything, change orders and follow them until the end; return whether the count is right."""
    found = programs(say)
    plugin = archive(LATEST, say)
    begun = time.monotonic()
    with ExitStack() as stack:
        say(f"{0:7.1f} s Kafka and PostgreSQL (wal_level=logical, {found}) start...")
        kafka = EmbeddedKafka(folder / "kafka", say=say)
        stack.callback(kafka.stop)
        starting = stack.enter_context(ThreadPoolExecutor(1)).submit(kafka.start)
        # Not in `folder`, which the user postgres may not be able to access.
        data = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-cdc-", ignore_cleanup_errors=True))
        )
        (folder / "postgresql").symlink_to(data)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        # Start it in this thread: the kernel stops PostgreSQL when the thread that started it ends.
        server = stack.enter_context(PostgreSQL(found, data, "127.0.0.1", port, {"wal_level": "logical"}))
        shop = Shop(server)
        starting.result()
        say(
            f"{time.monotonic() - begun:7.1f} s Table orders has {SEED:,} rows. Kafka listens on {kafka.bootstrap_servers}."
        )
        say(f"{'':9} penstock run --plugin-path {plugin.name} {MANIFEST.name}")
        stopping = StopSignal()
        log = folder / "penstock.log"
        output, said = stack.enter_context(log.open("wb")), stack.enter_context(log.open(encoding="utf-8"))
        env = {"SHOP_PORT": str(port), "SHOP_PASSWORD": server.password}
        servers = kafka.bootstrap_servers
        with penstock_run(
            MANIFEST, "--plugin-path", plugin, servers=servers, folder=folder, env=env, log=output
        ) as process:
            Play(begun, shop, process, said, servers).run(rate, seconds, stopping)
            early = process.poll()
        if early is not None:
            say(f"`penstock run` has exited ({early}):\n{log.read_text()[-2000:]}")
        say("Stopped. The count:")
        topic = [row(event_of(message.value())) for message in records(servers, TOPIC)]
        text, good = counted(shop.journal(), topic)
        say(f"  topic {TOPIC} (read_committed): {len(topic):,} records")
        say(f"  {text}")
    say(f"All processes have ended. Kafka's data and {log.name} stay in {FOLDER} until the next run or `make clean`.")
    return good and early is None


if __name__ == "__main__":
    sys.exit(main())
