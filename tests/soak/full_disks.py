"""A world whose disks are full at times: the one of the sink's file, and the one of temporary files."""

import subprocess
from pathlib import Path
from typing import ClassVar, Final

from .plan import Action, Step
from .sinks import RACES, FileSinkWorld
from .world import BROKER, RUNS, SPARK, Undo

__all__ = ["FullDiskWorld"]

_SIZE: Final = 2 << 30
_ROOM: Final = 256 << 10
"""Bytes that are left on a disk that is full, at most: for a part of a batch."""


class Disk:
    """A folder on a device of its own. Where none can be mounted it is a folder like others, and never full."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self._is_mounted = self._mount(f"size={_SIZE}", "-t", "tmpfs", "tmpfs")

    def fill(self, room: int) -> Undo | None:
        """Leave no more than so many bytes; what makes room again."""
        if not self._is_mounted:
            return None
        used = int(subprocess.check_output(["df", "--output=used", "--block-size=1", self.folder]).split()[-1])
        self._mount(f"remount,size={max(4096, used + room)}")
        return lambda: self.empty()

    def empty(self) -> None:
        """As large as at first."""
        if self._is_mounted:
            self._mount(f"remount,size={_SIZE}")

    def remove(self) -> None:
        """With what is there."""
        if self._is_mounted:
            subprocess.run(["umount", "--lazy", self.folder], check=False, capture_output=True)
            self._is_mounted = False

    def _mount(self, options: str, *what: str) -> bool:
        command = ["mount", "-o", options, *what, str(self.folder)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0


class FullDiskWorld(FileSinkWorld):
    """Nothing is lost, whatever was written of a batch, and everything goes on once there is room."""

    name: ClassVar = "full-disk"
    actions: ClassVar[tuple[Action, ...]] = (
        *BROKER,
        *RUNS,
        *SPARK,
        *RACES,
        Action("disk full", 5, lasts=(2, 20)),
    )

    def prepare(self) -> None:
        self._disk = Disk(self.folder / "disk")
        super().prepare()

    @property
    def out(self) -> Path:
        return self.folder / "disk" / "out"

    def do_disk_full(self, step: Step) -> Undo | None:
        empty = self._disk.fill(int(step.choice * _ROOM))
        if empty is None:
            return None

        def room() -> None:
            empty()
            self._look_anew()

        return room

    def ease(self) -> None:
        self._disk.empty()
        super().ease()
        self._look_anew()

    def verdict(self) -> list[str]:
        self._look_anew()
        return super().verdict()

    def close(self) -> None:
        super().close()
        if hasattr(self, "_disk"):
            self._disk.remove()

    def _look_anew(self) -> None:
        """What was written of a batch that failed is taken back, and the file read beyond that."""
        self._written_lines.begin_anew()
        self._found.clear()
        self._torn.clear()
        self.look_at_all()
