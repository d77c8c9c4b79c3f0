"""Kafka's own folder within a data folder, created before the first start.

Kafka's tool runs for a second, and its output differs only in two ids, so the output is cached.
"""

import base64
import hashlib
import logging
import re
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

from penstock.errors import ConnectError
from penstock_cli.embedded.jars import kafka_folder
from penstock_cli.embedded.jvm import FORMAT, Jvm
from penstock_cli.embedded.settings import TOPICS, Ports, template, write_settings

__all__ = ["format_once", "new_id"]

_logger = logging.getLogger(__name__)
_ARGUMENTS: Final = ("format", "--config", "server.properties", "--cluster-id")
_IDS: Final = "meta.properties"


def format_once(folder: Path, jvm: Jvm, cluster_id: str, ports: Ports) -> None:
    """Create Kafka's own folder unless it exists. A temporary folder is renamed, so that it is complete or absent.

    Raises:
        ConnectError: Kafka's tool failed; the message quotes it.
    """
    topics = folder / TOPICS
    if topics.exists():
        return
    unfinished = folder / f"{TOPICS}.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    digest = hashlib.sha256("\n".join((template(), *_ARGUMENTS)).encode()).hexdigest()[:12]
    known = kafka_folder() / f"formatted-{digest}.zip"
    try:
        _copy(known, unfinished, cluster_id)
    except (OSError, BadZipFile, ValueError) as error:
        _logger.debug("%s is not used: %s", known, error)
        shutil.rmtree(unfinished, ignore_errors=True)
        _format(folder, jvm, cluster_id, ports, unfinished)
        _keep(unfinished, known)
    unfinished.rename(topics)


def new_id() -> str:
    """Return a new id in Kafka's format."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):  # a command would take it for an option
            return text


def _format(folder: Path, jvm: Jvm, cluster_id: str, ports: Ports, unfinished: Path) -> None:
    write_settings(folder, ports, unfinished.name)
    command = jvm.command(FORMAT, *_ARGUMENTS, cluster_id)
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ConnectError(f"cannot format the data folder {folder}: {(done.stderr or done.stdout).strip()}")


def _keep(made: Path, known: Path) -> None:
    """Save the tool's output in the cache. A failure is only logged: the cache may be read-only."""
    try:
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=known.parent) as name:
            new = Path(name) / known.name
            with ZipFile(new, "w", strict_timestamps=False) as archive:
                for file in made.iterdir():
                    archive.write(file, file.name)
            new.replace(known)
    except OSError as error:
        _logger.info("Cannot cache a formatted Kafka folder; new ones take a second longer: %s", error)


def _copy(known: Path, unfinished: Path, cluster_id: str) -> None:
    """Copy the tool's output from the cache, with the ids replaced.

    Raises:
        OSError, BadZipFile, ValueError: the file is missing or damaged.
    """
    with ZipFile(known) as archive:
        archive.extractall(unfinished)
    ids = (unfinished / _IDS).read_text(encoding="ascii")
    for name, own in (("cluster.id", cluster_id), ("directory.id", new_id())):
        ids, count = re.subn(rf"(?m)^{re.escape(name)}=.*$", f"{name}={own}", ids)
        if count != 1:
            raise ValueError(f"{_IDS} has {count} lines for {name}")
    (unfinished / _IDS).write_text(ids, encoding="ascii")
