"""Folder of a demo: its data, and the manifests of its connectors."""

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Final

from penstock.errors import ConnectError
from penstock_cli.demo.screen import say
from penstock_runtime.process.scratch import Scratch, sweep

__all__ = [
    "BACKLOG",
    "LOG",
    "OUT",
    "SINK",
    "SOURCE",
    "DemoFolder",
    "require_room",
    "write_manifests",
    "write_new_manifests",
]

SOURCE: Final = "orders-in.yaml"
SINK: Final = "orders-out.yaml"
OUT: Final = "orders-out.txt"
LOG: Final = "tasks.log"
BACKLOG: Final = "history-out.yaml"
_KAFKA: Final = "kafka"
_TRANSFORM: Final = "depots.py"
_PACKAGED: Final = Path(__file__).with_name("manifests")
_RATE: Final = "    rate: 200\n"
_ROOM: Final = 500_000_000
"""Bytes for Kafka's segments and indexes, the log and the file of a demo that runs for some hours."""


class DemoFolder:
    """Data folder: a permanent one, or a temporary one, which the next demo removes if this one is killed.

    Args:
        kept: permanent folder, created if it does not exist; None: use a temporary one.

    Raises:
        ConnectError: it cannot be created, or has files that do not belong to a demo.
    """

    def __init__(self, kept: Path | None) -> None:
        self._kept = kept
        self._scratch: Scratch | None = None
        if kept is not None:
            try:
                kept.mkdir(parents=True, exist_ok=True)
                is_ours = (kept / _KAFKA).is_dir() or not any(kept.iterdir())
            except OSError as error:
                raise ConnectError(f"cannot keep the data in {kept}: {error}; name another folder") from error
            if not is_ours:
                raise ConnectError(f"cannot keep the data in {kept}: it has other files; name a new folder")
            self.path = kept.absolute()
            return
        try:
            sweep()
            self._scratch = Scratch()
        except OSError as error:
            raise ConnectError(f"cannot create a temporary folder: {error}; set TMPDIR to a writable folder") from error
        self.path = self._scratch.path

    @property
    def kafka(self) -> Path:
        """Return the folder of Kafka's data."""
        return self.path / _KAFKA

    def leave(self, *, is_needed: bool) -> None:
        """Remove a temporary folder unless its data is needed, and print where data is kept."""
        if self._scratch is not None and is_needed:
            self.path = self.path.rename(tempfile.mkdtemp(prefix="penstock-demo-"))
        if self._scratch is not None:
            self._scratch.remove()
        if is_needed:
            say(f"The data and the log {LOG} are kept in {self.path}.")
        elif self._kept is not None:
            name = shlex.quote(str(self._kept))
            say(f"`penstock demo --keep {name}` continues where it stopped. `rm -r {name}` removes all data.")


def write_new_manifests(folder: Path, *, rate: int, has_backlog: bool) -> list[str]:
    """Write the manifests as `write_manifests` does, but only if none of them exists: the user may have edited it.

    Raises:
        ConnectError: one of them exists, or they cannot be written.
    """
    if there := [name for name in (SOURCE, SINK, BACKLOG, _TRANSFORM) if (folder / name).exists()]:
        raise ConnectError(
            f"cannot write the demo's manifests to {folder}: it has {', '.join(there)}; name another folder"
        )
    return write_manifests(folder, rate=rate, has_backlog=has_backlog)


def write_manifests(folder: Path, *, rate: int, has_backlog: bool) -> list[str]:
    """Write the manifests into a folder, which is created if it does not exist.

    Args:
        folder: the folder.
        rate: orders per second.
        has_backlog: include the connector of a backlog, and its transform.

    Returns:
        The names of the manifests, those of sinks last.

    Raises:
        ConnectError: they cannot be written.
    """
    names = [SOURCE, SINK, *([BACKLOG] if has_backlog else [])]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*names, *([_TRANSFORM] if has_backlog else [])):
            text = (_PACKAGED / name).read_text(encoding="utf-8")
            (folder / name).write_text(text.replace(_RATE, f"    rate: {rate}\n"), encoding="utf-8")
    except OSError as error:
        raise ConnectError(f"cannot write the demo's manifests to {folder}: {error}; name another folder") from error
    return names


def require_room(folder: Path) -> None:
    """Raise ConnectError if the disk of a folder is nearly full."""
    free = shutil.disk_usage(folder).free
    if free < _ROOM:
        raise ConnectError(
            f"cannot keep the demo's data in {folder}: {free / 1e6:.0f} MB are free, and {_ROOM / 1e6:.0f} MB are needed; "
            "free space there, or set another folder with --keep DIR or TMPDIR"
        )
