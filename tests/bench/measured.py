"""A measured side: a command that runs under a keeper, with its log, and gone for certain at the end."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.bench import keeper
from tests.bench.tree import Tree

__all__ = ["Measured"]

_PATIENCE: Final = 120.0
_TROUBLE: Final = re.compile(r'"level": "(?:warning|error)"|"restarts": [1-9]| ERROR ')


class Measured:
    """Runs a command until the end of the `with` block.

    Args:
        name: for people.
        command: what to run.
        folder: its working directory; its output goes to a file there.
        up_mark: what its log says when nothing of it is still starting; None says nothing.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path, up_mark: str | None) -> None:
        self.name = name
        self.started = 0.0
        """When the command was started, monotonic seconds."""
        self._command = command
        self._folder = folder
        self._log = folder / "output.log"
        self._up_mark = up_mark
        self._process: subprocess.Popen[bytes] | None = None
        self._tree: Tree | None = None

    @property
    def tree(self) -> Tree:
        """Its processes."""
        assert self._tree is not None
        return self._tree

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), *self._command],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                start_new_session=True,
            )
        try:
            assert self._process.stdout is not None
            words = self._process.stdout.readline().split()
            if not words:
                raise RuntimeError(f"{self.name} was not started: {self.log_end()}")
            self.started = float(words[1])
            self._tree = Tree(self._process.pid)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def await_until(self, what: str, holds: Callable[[], bool]) -> float:
        """Look every five milliseconds until something holds.

        Returns:
            The moment at which it did.

        Raises:
            RuntimeError: the command ended, or it took too long.
        """
        deadline = time.monotonic() + _PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name}: not {what} after {_PATIENCE:.0f} s\n{self.log_end()}")
            self.check()
            time.sleep(0.005)
        return time.monotonic()

    def await_up(self) -> None:
        """Wait until its log says that everything has been started."""
        mark = self._up_mark
        if mark is not None:
            self.await_until("up", lambda: mark in self._log.read_text(errors="replace"))

    def check(self) -> None:
        """Raise RuntimeError when the command has ended."""
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"{self.name} has ended by itself:\n{self.log_end()}")

    def log_end(self) -> str:
        """The last lines of its output."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def complaints(self) -> list[str]:
        """What its log says of trouble and restarts: a figure with any of these needs a second look."""
        lines = self._log.read_text(errors="replace").splitlines()
        return [line[:300] for line in lines if _TROUBLE.search(line)][:20]

    def _end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


def _environment() -> Mapping[str, str]:
    """As users have it: an installed Python package is compiled once, not at each start."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
