"""A test cluster, as tests drive it: through the script beside this file and through kubectl."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("cluster")


class Cluster:
    """One cluster, by its name."""

    def __init__(self, name: str, env: dict[str, str] | None = None) -> None:
        self.name = name
        self._env = {**os.environ, **(env or {})}

    def run(self, *words: str | Path, stdin: str | None = None, fails: bool = False) -> str:
        """Run a command of the script, and give what it printed on stdout; with `fails`, what it said of its failure."""
        done = subprocess.run(
            [SCRIPT, "--name", self.name, *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            env=self._env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{words}: {done.stdout}{done.stderr}"
        return done.stderr if fails else done.stdout

    def kubectl(self, *words: str, stdin: str | None = None, fails: bool = False) -> str:
        return self.run("kubectl", *words, stdin=stdin, fails=fails)

    def apply(self, *resources: dict[str, Any], fails: bool = False) -> str:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(resources)}
        return self.kubectl("apply", "--filename=-", stdin=json.dumps(listed), fails=fails)

    def get(self, *words: str) -> Any:  # what Kubernetes answers
        return json.loads(self.kubectl("get", "--output=json", *words))

    def status(self) -> Any:
        return json.loads(self.run("status", "--json"))


@contextlib.contextmanager
def cluster(name: str, *options: str, env: dict[str, str] | None = None) -> Iterator[Cluster]:
    """A cluster that is up, until the block ends; or this process, however it does."""
    up = Cluster(name, env)
    try:
        up.run("up", *options, "--with-parent", str(os.getpid()))
        yield up
    finally:
        up.run("down")


def until(claim: Callable[[], object], what: str, limit: float = 30) -> None:
    """Wait until the claim holds."""
    end = time.monotonic() + limit
    while not claim():
        assert time.monotonic() < end, f"not within {limit} s: {what}"
        time.sleep(0.05)
