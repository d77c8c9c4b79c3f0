"""Class-data archive: Kafka's classes, parsed and verified once, then mapped into memory at every start.

It shortens the start of a broker from 1.5 s to 0.9 s (2 cores). It belongs to one build of Java and one set of jars; Java
ignores an archive that does not fit.
"""

import hashlib
import logging
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.errors import ConnectError
from penstock_cli.embedded.broker_process import BrokerProcess
from penstock_cli.embedded.folder import choose_ports, read_identity
from penstock_cli.embedded.formatting import format_once
from penstock_cli.embedded.jars import kafka_folder
from penstock_cli.embedded.jvm import SERVER, Jvm
from penstock_cli.embedded.lock import FolderLock
from penstock_cli.embedded.settings import STDERR, write_settings
from penstock_runtime.maven import exclusively

__all__ = ["with_archive"]

_logger = logging.getLogger(__name__)
_PATIENCE = 60.0  # seconds


def with_archive(jvm: Jvm, say: Callable[[str], None], *, makes_it: bool = True) -> Jvm:
    """Return the JVM with its archive, which is created if it does not exist.

    The archive is optional: the JVM is returned unchanged if the archive cannot be created (for example in a read-only
    cache), or if it does not exist and `makes_it` is False.
    """
    words = "\n".join((jvm.java.build, *map(str, jvm.jars)))
    digest = hashlib.sha256(words.encode()).hexdigest()[:12]
    archive = kafka_folder() / f"classes-{digest}.jsa"
    try:
        if not archive.exists():
            if not makes_it:
                return jvm
            with exclusively(kafka_folder()):
                if not archive.exists():
                    say("Preparing Kafka for quick starts (once)...")
                    _make(jvm, archive)
    except (OSError, ConnectError) as error:
        _logger.info("Cannot create a class-data archive; the embedded Kafka starts more slowly without it: %s", error)
        return jvm
    return replace(jvm, archive=archive)


def _make(jvm: Jvm, archive: Path) -> None:
    """Run an idle broker, so that Java records on exit which classes it loaded."""
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=archive.parent) as name:
        folder = Path(name)
        new = folder / archive.name
        identity = read_identity(folder)
        ports = choose_ports(identity, 0)
        format_once(folder, jvm, identity.cluster_id, ports)
        write_settings(folder, ports)
        lock = FolderLock(folder)
        lock.acquire()
        try:
            command = jvm.command(SERVER, "server.properties", options=(f"-XX:ArchiveClassesAtExit={new}",))
            process = BrokerProcess(command, folder, folder / STDERR, lock.inheritable)
            try:
                process.await_ready(_PATIENCE)
            except BaseException:
                process.kill()
                raise
            process.stop(_PATIENCE)
        finally:
            lock.release()
        if not new.exists():
            raise ConnectError(f"Java wrote no archive (exit code: {process.exit_code})")
        new.rename(archive)
