"""Operators as processes: started, stopped, killed between two writes, and their logs read."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from ...ports import free_port

__all__ = ["OperatorProcess", "Stable", "configuration"]

ROOT: Final = Path(__file__).parents[4]
KEY: Final = b"0123456789abcdef0123456789abcdef"


def configuration(
    *,
    namespace: str,
    name: str,
    servers: str,
    topic: str,
    watch: Sequence[str],
    properties: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An operator's configuration as Helm writes it; `properties` are further ones of the worker."""
    return {
        "release": {"name": name, "namespace": namespace},
        "watchNamespaces": list(watch),
        "worker": {
            "bootstrap.servers": servers,
            "group.id": topic,
            "status.storage.topic": topic,
            "offset.storage.topic": f"{topic}-offsets",
            "status.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1",
            "status.storage.partitions": "1",
            "offset.storage.partitions": "1",
            "key.converter": "JsonConverter",
            "value.converter": "JsonConverter",
            **(properties or {}),
        },
        "images": {"runtime": "penstock-runtime:test"},
        "metrics": {"port": free_port()},
        "probes": {"port": free_port()},
        **more,
    }


class Stable:
    """A process that forks operators."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'operator'}{os.pathsep}{ROOT / 'runtime'}"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("stable.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
        """The process id of an operator."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"arguments": list(arguments), "environment": dict(environment), "log": str(log)}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)


class OperatorProcess:
    """The operator of a configuration; each start is another process.

    Args:
        folder: its own, for files and logs.
        settings: `configuration`.
        kubeconfig: how it reaches the API server.
        stable: forks it; None: a process of its own, as in a container.
        pod: the name of its pod, by which it is known in the Lease; None: a new name at every start.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        kubeconfig: Path,
        stable: Stable | None,
        *,
        pod: str | None = "operator-0",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.settings, self.kubeconfig = folder, settings, kubeconfig
        self._stable = stable
        self._pod = pod
        self._environment = dict(environment or {})
        self._own: subprocess.Popen[bytes] | None = None
        self.pid: int | None = None
        self._handle: int | None = None
        self.starts = 0
        (folder / "operator.yaml").write_text(yaml.safe_dump(dict(settings)))
        (folder / "key").write_bytes(KEY)

    @property
    def log(self) -> Path:
        """Of the last process."""
        return self.folder / f"operator-{self.starts}.log"

    def start(self) -> "OperatorProcess":
        """Start it; it is not ready yet."""
        assert self.pid is None
        self.starts += 1
        arguments = [
            "--config",
            str(self.folder / "operator.yaml"),
            "--key",
            str(self.folder / "key"),
            "--secrets",
            str(self.folder / "secrets"),
            "--kubeconfig",
            str(self.kubeconfig),
        ]
        environment = {**self._environment, "HOSTNAME": "operator"}
        if self._pod is not None:
            environment |= {"PENSTOCK_POD_NAME": self._pod, "PENSTOCK_POD_UID": self._pod}
        if self._stable is not None:
            self.pid = self._stable.fork(arguments, environment, self.log)
        else:
            self.pid = self._begin(arguments, environment)
        self._handle = os.pidfd_open(self.pid)
        return self

    def _begin(self, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
        with self.log.open("wb") as log:
            self._own = subprocess.Popen(
                [sys.executable, "-m", "penstock_operator", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                env={**os.environ, **environment, "PYTHONPATH": f"{ROOT / 'operator'}{os.pathsep}{ROOT / 'runtime'}"},
            )
        return self._own.pid

    def kill(self) -> None:
        """As the kernel does it when memory is short; it may have ended by itself."""
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        """As on a node that stands still: it does nothing, and does not know it."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def stop(self, seconds: float = 30.0) -> int:
        """As the kubelet does it; the exit code."""
        if self.pid is None:
            return 0
        self._signal(signal.SIGTERM)
        return self.ended(seconds)

    def ended(self, seconds: float = 30.0) -> int:
        """Wait for its end; the exit code, a signal as a negative number."""
        deadline = time.monotonic() + seconds
        while (code := self._code()) is None:
            assert time.monotonic() < deadline, f"the operator does not end\n{self.tail()}"
            time.sleep(0.02)  # nobody tells of the end of a process that is not ours
        self.pid = None
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        return code

    def _signal(self, number: signal.Signals) -> None:
        """By a handle: the number of a process that has ended may be that of a thread of ours by now."""
        if self._handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def _code(self) -> int | None:
        if self._own is not None:
            return self._own.poll()
        end = Path(f"{self.log}.end")
        return int(end.read_text()) if end.exists() else None

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself, or was killed."""
        return self.pid is not None and self._code() is not None

    def ready(self, seconds: float = 60.0) -> "OperatorProcess":
        """Wait until its probe says so."""
        self.until(lambda: self.probe("readyz")[0] == 200, "ready", seconds)
        return self

    def probe(self, page: str) -> tuple[int, str]:
        """What a probe is answered; 0: nobody answers."""
        return self._page(self.settings["probes"]["port"], page)

    def metrics(self) -> str:
        """The page of metrics."""
        return self._page(self.settings["metrics"]["port"], "metrics")[1]

    def _page(self, port: int, page: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            with e:
                return e.code, e.read().decode()
        except OSError:
            return 0, ""

    def until(self, claim: Callable[[], object], what: str, seconds: float = 60.0, *, pause: float = 0.05) -> None:
        """Wait for something that nobody tells of: what stands in its log, what its probe says."""
        deadline = time.monotonic() + seconds
        while not claim():
            assert not self.has_ended, f"the operator has ended\n{self.tail()}"
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}\n{self.tail()}"
            time.sleep(pause)

    def lines(self) -> list[dict[str, Any]]:
        """What all processes have logged so far; what is no line of JSON has the level `raw`."""
        found = []
        for log in sorted(self.folder.glob("operator-*.log"), key=lambda p: int(p.stem.rpartition("-")[2])):
            for line in log.read_text().splitlines():
                try:
                    found.append(json.loads(line))
                except ValueError:
                    found.append({"level": "raw", "message": line})
        return found

    def failures(self) -> list[dict[str, Any]]:
        """Lines that tell of a fault of the operator: a trace, an error of its own, something that is no line of a log.

        Libraries tell of every request that they try again as an error.
        """
        return [n for n in self.lines() if "trace" in n or n["level"] == "raw" or _is_own_error(n)]

    def logged(self, text: str) -> bool:
        """Whether a message holds this."""
        return any(text in str(n.get("message")) for n in self.lines())

    def tail(self, count: int = 40) -> str:
        """The end of the log."""
        return "\n".join(json.dumps(n) for n in self.lines()[-count:])


def _is_own_error(line: Mapping[str, Any]) -> bool:
    return line["level"] in ("error", "critical") and str(line["logger"]).startswith("penstock_operator")
