"""Child processes end with what they have started."""

import asyncio
import os
import select
import sys
from pathlib import Path

import pytest

from penstock_web.child_process import run_child

_STARTS_ANOTHER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout={output}, stderr={output})
open(sys.argv[1], "w").write(str(child.pid))
"""


@pytest.mark.parametrize(("output", "is_late"), [("None", True), ("subprocess.DEVNULL", False)])
def test_what_a_child_has_started_ends_with_it(tmp_path: Path, output: str, is_late: bool) -> None:
    """A process that has the child's output would keep it open for ever."""

    async def run() -> bool:
        program = _STARTS_ANOTHER.format(output=output)
        try:
            await run_child([sys.executable, "-c", program, str(tmp_path / "pid")], "", 5 if is_late else 60)
        except TimeoutError:
            return True
        return False

    assert asyncio.run(run()) is is_late
    pid = int((tmp_path / "pid").read_text())
    assert _ends(pid)


def _ends(pid: int) -> bool:
    """Return whether a process ends, which SIGKILL brings about a little later."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    has_ended = bool(poll.poll(60_000))
    os.close(descriptor)
    return has_ended
