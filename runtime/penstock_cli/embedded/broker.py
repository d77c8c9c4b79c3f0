"""`EmbeddedKafka`: a real broker on a data folder."""

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.errors import ConnectError
from penstock_cli.embedded.archive import with_archive
from penstock_cli.embedded.broker_process import BrokerProcess
from penstock_cli.embedded.folder import choose_ports, read_identity, require_free, write_identity
from penstock_cli.embedded.formatting import format_once
from penstock_cli.embedded.jars import kafka_jars
from penstock_cli.embedded.jvm import SERVER, Jvm
from penstock_cli.embedded.lock import FolderInUse, FolderLock
from penstock_cli.embedded.settings import LOG, STDERR, write_settings
from penstock_runtime.java_home import find_java

__all__ = ["EmbeddedKafka"]

_logger = logging.getLogger(__name__)
_START_PATIENCE = 120.0  # seconds; recovery after kill -9 reads the last segments again
_STOP_PATIENCE = 20.0  # seconds
_QUOTED = 15  # lines of the log in an error


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class EmbeddedKafka:
    """Private Kafka broker: a child process that listens on 127.0.0.1 and keeps its data in a folder.

    Data, cluster id and ports survive restarts. The broker ends when the process that started it ends, even if that process
    is killed. It ignores Ctrl-C, so that its clients can finish before `stop`. It can be started again. Other processes
    may use it (`share`); when its owner has ended, the first of them to notice runs it from then on.

        with EmbeddedKafka(Path("penstock-data")) as kafka:
            Producer({"bootstrap.servers": kafka.bootstrap_servers})

    Args:
        data_dir: the folder; created if it does not exist. Only one process at a time can use it.
        port: port for clients; 0 means the port of the last start, or any free port.
        say: called with a line about each slow step that happens only once; writes to standard error by default.
        settings: broker settings, in Kafka's names; they override Penstock's and are not saved in the folder. In their
            values `{ports.broker}` and `{ports.controller}` are replaced with the ports.
        prepares: whether to create an archive that makes later starts faster, which takes some seconds once.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int = 0,
        say: Callable[[str], None] = _say,
        settings: Mapping[str, str] | None = None,
        *,
        prepares: bool = True,
    ) -> None:
        self._folder = data_dir.absolute()
        self._settings = dict(settings or {})
        self._wanted = port
        self._say = say
        self._prepares = prepares
        self._lock = FolderLock(self._folder)
        self._port = 0
        self._process: BrokerProcess | None = None

    @property
    def data_dir(self) -> Path:
        """Return the absolute path of the data folder."""
        return self._folder

    @property
    def bootstrap_servers(self) -> str:
        """Return the address for clients. It is set at the first start, and stays the same after a stop."""
        if not self._port:
            raise ConnectError("cannot connect to the embedded Kafka: it has not been started")
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        """Return the process id of the broker, or None if it is not running."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def running(self) -> bool:
        """Return whether the broker's process is alive."""
        return self._process is not None and self._process.exit_code is None

    @property
    def lost(self) -> bool:
        """Return whether the broker that this process started died unexpectedly."""
        return self._process is not None and self._process.exit_code is not None

    def start(self) -> None:
        """Start the broker and return when clients can produce.

        Raises:
            ConnectError: Java or the jars are missing, the folder or the port is in use, or the broker does not start. The
                message states the cause, with the remedy or the end of the broker's log.
        """
        if self.running:
            return
        self._lock.release()  # of a broker that died unexpectedly
        java = find_java()
        jvm = with_archive(Jvm(java, kafka_jars(java, self._say)), self._say, makes_it=self._prepares)
        if self._wanted and not self._folder.exists():
            require_free(self._wanted)  # before any file is created
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except OSError as error:
            raise ConnectError(f"cannot use the data folder {self._folder}: {error}; choose another") from error
        try:
            self._run(jvm)
        except BaseException:
            self.kill()
            raise

    def share(self) -> bool:
        """Start the broker, or use the one that another process runs on the folder; see `take_over`.

        Returns:
            Whether this process runs it.

        Raises:
            ConnectError: as for `start`.
        """
        try:
            self.start()
        except FolderInUse:
            self._port = read_identity(self._folder).broker_port
            if not self._port:  # the other process has only just started
                raise
            self._process = None
            return False
        return True

    def joins(self, servers: str) -> bool:
        """Return whether another process runs the broker with this address on the folder; if so, use it as `share` does."""
        if not self._lock.taken:
            return False
        port = read_identity(self._folder).broker_port
        if servers not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return False
        self._port = port
        return True

    def take_over(self) -> bool:
        """Run the broker from this process, at the same address, if its previous owner has ended.

        Returns:
            Whether this process has taken it over.
        """
        return not self._lock.taken and self.share()

    def stop(self) -> None:
        """Stop the broker gracefully, or kill it after 20 s, and release the data folder. No effect if none runs."""
        if self._process is not None:
            self._process.stop(_STOP_PATIENCE)
        self._lock.release()

    def kill(self) -> None:
        """Kill the broker; the next start recovers. For tests, and for when there is no time for `stop`."""
        if self._process is not None:
            self._process.kill()
        self._lock.release()

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait until the broker ends.

        Returns:
            Its exit code (negative: the signal that ended it), or None if it still runs after `seconds`.
        """
        if self._process is None:
            raise ConnectError("cannot wait for the embedded Kafka: it has not been started")
        self._process.await_end(seconds)
        return self._process.exit_code

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, jvm: Jvm) -> None:
        begin = time.monotonic()
        identity = read_identity(self._folder)
        ports = choose_ports(identity, self._wanted)
        identity = replace(identity, broker_port=ports.broker, controller_port=ports.controller)
        write_identity(self._folder, identity)
        format_once(self._folder, jvm, identity.cluster_id, ports)
        write_settings(self._folder, ports, more=self._settings)
        command = jvm.command(SERVER, "server.properties")
        self._process = BrokerProcess(command, self._folder, self._folder / STDERR, self._lock.inheritable)
        self._lock.name_broker(self._process.pid)
        if not self._process.await_ready(_START_PATIENCE):
            self._refuse(self._process)
        self._port = ports.broker
        _logger.debug(
            "Embedded Kafka on %s after %.1f s, data in %s",
            self.bootstrap_servers,
            time.monotonic() - begin,
            self._folder,
        )

    def _refuse(self, process: BrokerProcess) -> None:
        code = process.exit_code
        why = f"it is not ready after {_START_PATIENCE:.0f} s" if code is None else f"it exited with code {code}"
        raise ConnectError(
            f"cannot start the embedded Kafka: {why}; the last lines of {self._folder / LOG}:\n{self._last_words()}"
        )

    def _last_words(self) -> str:
        lines: deque[str] = deque(maxlen=_QUOTED)
        for name in (LOG, STDERR):
            try:
                with (self._folder / name).open(encoding="utf-8", errors="replace") as log:
                    lines.extend(line for line in log if not line.startswith("\tat "))  # stack frames
            except FileNotFoundError:
                continue
        return "".join(lines).rstrip()
