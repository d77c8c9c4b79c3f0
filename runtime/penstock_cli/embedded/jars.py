"""Kafka's jars, in the cache."""

import errno
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.java_home import Java
from penstock_runtime.maven import Jar, cache_folder, exclusively, fetch_pinned

__all__ = ["KAFKA_VERSION", "kafka_folder", "kafka_jars"]

KAFKA_VERSION = "4.3.1"
_ROOM: Final = 150_000_000
"""Bytes for the jars, which exist twice while they are fetched, and for the archive of their classes."""


def _pins() -> tuple[Jar, ...]:
    lines = Path(__file__).with_name("kafka-jars.txt").read_text(encoding="ascii").splitlines()
    rows = (re.split("[: ]", line) for line in lines if line and not line.startswith("#"))
    return tuple(Jar(*row) for row in rows)


_JARS: Final = _pins()


def kafka_folder() -> Path:
    """Return Kafka's folder in the cache: its jars in `libs`, and files made from them."""
    return cache_folder() / f"kafka-{KAFKA_VERSION}"


def kafka_jars(java: Java, say: Callable[[str], None]) -> tuple[Path, ...]:
    """Return Kafka's jars, downloaded first if the cache does not have them.

    Args:
        java: Java that runs Ivy.
        say: called with a line about each slow step.

    Raises:
        ConnectError: they cannot be fetched; the message names the remedy.
    """
    folder = kafka_folder()
    libs = folder / "libs"
    if _missing(libs) is not None:
        try:
            with exclusively(folder):
                if _missing(libs) is not None:
                    _require_room(folder)
                    say(f"Fetching Kafka {KAFKA_VERSION} (44 MB, once)...")
                    fetch_pinned(
                        java,
                        _JARS,
                        libs,
                        what=f"Kafka {KAFKA_VERSION}",
                        remedy=", or use your own broker: `penstock run --bootstrap-servers HOST:PORT`",
                    )
        except OSError as error:
            raise ConnectError(
                f"cannot store Kafka {KAFKA_VERSION} in {folder}: {error.strerror}; free space there, or set PENSTOCK_CACHE "
                "to a writable folder"
            ) from error
    # Java checks an archive of classes against the class path, so the order is fixed.
    return tuple(sorted(libs.glob("*.jar")))


def _require_room(folder: Path) -> None:
    """Raise OSError if the disk is nearly full, because Ivy reports that as a failure of the network."""
    if (free := shutil.disk_usage(folder).free) < _ROOM:
        raise OSError(errno.ENOSPC, f"{free / 1e6:.0f} MB are free, and {_ROOM / 1e6:.0f} MB are needed")


def _missing(libs: Path) -> str | None:
    missing = [name for name in (jar.file for jar in _JARS) if not (libs / name).is_file()]
    return f"{', '.join(missing)} missing" if missing else None
