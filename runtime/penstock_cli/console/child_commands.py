"""Commands of this program that the console runs in child processes, with limits of time and of output."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_model.contracts.exit_codes import ExitCode

__all__ = ["ChildCommands"]

_SECONDS: Final = 25.0
_MOST_BYTES: Final = 256 << 10
_AT_A_TIME: Final = 2


class ChildCommands:
    """Runs `penstock transform` and `penstock offsets list` for one connector.

    Args:
        folder: private folder for manifests, which may have passwords.
        common: options of both commands (`--secrets`, `--worker`).
        bootstrap_servers: Kafka of the run.
        seconds: time for a command.
    """

    def __init__(
        self, folder: Path, common: Sequence[str] = (), bootstrap_servers: str = "", seconds: float = _SECONDS
    ) -> None:
        self._folder = folder
        self._common = tuple(common)
        self._servers = bootstrap_servers
        self._seconds = seconds
        self._places = asyncio.Semaphore(_AT_A_TIME)

    async def transform(self, manifest: Mapping[str, Any], record: str) -> str:
        """Return what each step of the chain does to a record in JSON.

        Raises:
            ConnectError: the chain cannot be built, or takes too long.
        """
        code, out, error = await self._run(manifest, ["transform"], record)
        if not out:
            raise ConnectError(error.strip() or f"cannot try the transforms: the command ended with exit code {code}")
        return f"{error}{out}"

    async def offsets(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the offsets of a connector.

        Raises:
            ConnectError: they cannot be read.
        """
        options = ["offsets", "list", "--output", "json", "--bootstrap-servers", self._servers]
        code, out, error = await self._run(manifest, options, "")
        if code != ExitCode.OK:
            raise ConnectError(error.strip() or f"cannot list the offsets: the command ended with exit code {code}")
        try:
            listed: Mapping[str, Any] = json.loads(out)
        except ValueError:
            raise ConnectError("cannot list the offsets: there are too many; use `penstock offsets list`") from None
        return listed

    async def _run(self, manifest: Mapping[str, Any], command: Sequence[str], given: str) -> tuple[int, str, str]:
        async with self._places:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                file = Path(folder) / "connector.yaml"
                file.write_text(json.dumps(manifest))
                child = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "penstock_cli", *command, str(file), *self._common),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,
                )
                assert child.stdout is not None
                assert child.stderr is not None
                try:
                    async with asyncio.timeout(self._seconds):
                        _, out, error = await asyncio.gather(
                            _feed(child, given), _some(child.stdout), _some(child.stderr)
                        )
                        code = await child.wait()
                except TimeoutError:
                    raise ConnectError(f"`penstock {command[0]}` took longer than {self._seconds:.0f} s") from None
                finally:
                    if child.returncode is None:
                        os.killpg(child.pid, signal.SIGKILL)
                        await child.wait()
                return code, out.replace(str(file), "connector"), error.replace(str(file), "connector")


async def _feed(child: asyncio.subprocess.Process, text: str) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(text.encode())
        await child.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):  # it has ended without reading all
        pass
    finally:
        child.stdin.close()


async def _some(stream: asyncio.StreamReader) -> str:
    """Return the beginning of a stream, and read the rest, so that the child does not block."""
    kept = b""
    while piece := await stream.read(1 << 16):
        kept = (kept + piece)[:_MOST_BYTES] if len(kept) < _MOST_BYTES else kept
    return kept.decode(errors="replace")
