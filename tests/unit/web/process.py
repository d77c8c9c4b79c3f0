"""Web server in its own process, for its memory. As a program: serves many Connectors until its input ends."""

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .serving import served
from .shop import Shop, connector, many

__all__ = ["LARGE", "Process", "served_by_a_process"]

LARGE: Final = "/connect/large/connectors?expand=status"
"""Path of an answer with a megabyte."""
_ROOT: Final = Path(__file__).parents[3]
_MALLOC: Final = {"MALLOC_MMAP_THRESHOLD_": "131072"}
"""As the chart sets it for the operator."""


class Process:
    """Process with a web server.

    Attributes:
        port: its port.
    """

    def __init__(self, running: "subprocess.Popen[str]", port: int) -> None:
        self._running = running
        self.port = port

    def peak(self) -> int:
        """Return how many bytes of memory it had at most."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self._running.pid}/status").read_text())
        assert found is not None
        return int(found[1]) << 10


@contextmanager
def served_by_a_process() -> Iterator[Process]:
    """Serve many Connectors until the block ends."""
    command = [sys.executable, "-m", __name__]
    environment = {**os.environ, **_MALLOC}
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        yield Process(running, int(running.stdout.readline()))


def main() -> None:
    logging.disable()
    large = [connector(f"c-{n}", "Failed", namespace="large", trace="x" * 50_000) for n in range(20)]
    with served(Shop(*many(1000), *large)) as server:
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
