"""Kafka's own folder within a data folder, made before the first start.

Kafka's tool for it takes a second of a JVM and always says the same but for two ids, so its answer is kept in the cache.
"""

import base64
import logging
import re
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.embedded.jars import exclusively, kafka_folder
from penstock_runtime.embedded.jvm import FORMAT, Jvm
from penstock_runtime.embedded.settings import DIGEST, TOPICS, Ports, write_settings

__all__ = ["format_once", "new_id"]

_logger = logging.getLogger(__name__)
_IDS: Final = "meta.properties"


def format_once(folder: Path, jvm: Jvm, cluster_id: str, ports: Ports) -> None:
    """Make Kafka's own folder unless it exists: prepared beside it, then renamed, so that it is whole or absent.

    Raises:
        ConnectError: Kafka's tool refuses; the message quotes it.
    """
    topics = folder / TOPICS
    if topics.exists():
        return
    unfinished = folder / f"{TOPICS}.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    known = kafka_folder() / f"formatted-{DIGEST}"
    if known.exists():
        shutil.copytree(known, unfinished)
        _name(unfinished, cluster_id)
    else:
        _format(folder, jvm, cluster_id, ports, unfinished)
        _keep(unfinished, known)
    unfinished.rename(topics)


def new_id() -> str:
    """An id in Kafka's spelling."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):  # it is an argument of a command
            return text


def _format(folder: Path, jvm: Jvm, cluster_id: str, ports: Ports, unfinished: Path) -> None:
    write_settings(folder, ports, unfinished.name)
    command = jvm.command(FORMAT, "format", "--cluster-id", cluster_id, "--config", "server.properties")
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ConnectError(f"the data folder {folder} cannot be prepared: {(done.stderr or done.stdout).strip()}")


def _keep(made: Path, known: Path) -> None:
    """A convenience only: the cache may be read-only."""
    try:
        with exclusively(known.parent):
            if not known.exists():
                with tempfile.TemporaryDirectory(prefix="unfinished-", dir=known.parent) as name:
                    shutil.copytree(made, Path(name) / known.name).rename(known)
    except OSError as error:
        _logger.info("how Kafka prepares a folder is not kept, new ones take a second longer: %s", error)


def _name(copy: Path, cluster_id: str) -> None:
    """Give a copy ids of its own."""
    ids = copy / _IDS
    text = re.sub(r"(?m)^cluster\.id=.*$", f"cluster.id={cluster_id}", ids.read_text(encoding="ascii"))
    ids.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={new_id()}", text), encoding="ascii")
