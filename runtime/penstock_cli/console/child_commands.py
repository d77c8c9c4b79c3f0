"""Commands of this program that the console runs in child processes, with a time limit and an output limit."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_model.contracts.exit_codes import ExitCode
from penstock_web.child_process import run_child

__all__ = ["ChildCommands"]

_SECONDS: Final = 25.0
_AT_A_TIME: Final = 2


class ChildCommands:
    """Runner of `penstock transform` and `penstock offsets list` for one connector.

    Args:
        folder: private folder for manifests, which may contain passwords.
        common: options of both commands (`--secrets`, `--worker`).
        bootstrap_servers: Kafka of the run.
        seconds: time limit of a command, in seconds.
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
            raise ConnectError(error.strip() or f"cannot try the transforms: the command exited with code {code}")
        return f"{error}{out}"

    async def offsets(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the offsets of a connector.

        Raises:
            ConnectError: they cannot be read.
        """
        options = ["offsets", "list", "--output", "json", "--bootstrap-servers", self._servers]
        code, out, error = await self._run(manifest, options, "")
        if code != ExitCode.OK:
            raise ConnectError(error.strip() or f"cannot list the offsets: the command exited with code {code}")
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
                try:
                    code, out, error = await run_child(
                        [sys.executable, "-m", "penstock_cli", *command, str(file), *self._common], given, self._seconds
                    )
                except TimeoutError:
                    raise ConnectError(
                        f"cannot finish `penstock {command[0]}` within {self._seconds:.0f} s; run it in a terminal"
                    ) from None
                return code, out.replace(str(file), "connector"), error.replace(str(file), "connector")
