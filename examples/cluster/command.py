"""Other programs: kubectl, helm and the scripts of this project."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Failed", "Kube", "Object", "run", "stream"]

Object = dict[str, Any]
"""An object of Kubernetes, as its JSON has it."""

ROOT = Path(__file__).resolve().parents[2]


class Failed(Exception):
    """The demo cannot go on; says why and what to do."""


def run(words: Sequence[str | Path], stdin: str = "", env: Mapping[str, str] | None = None, limit: float = 60) -> str:
    """A program's standard output.

    Raises:
        Failed: it has failed or not ended in time (seconds), with what it said.
    """
    try:
        done = subprocess.run(
            words,
            input=stdin,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{_shown(words)}: no answer within {limit:.0f} s.") from None
    if done.returncode:
        raise Failed(f"{_shown(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def stream(words: Sequence[str | Path], tell: Callable[[str], None]) -> list[str]:
    """Run a program that takes its time; each line that it writes is told at once, and all are returned.

    Raises:
        Failed: it has failed.
    """
    lines = []
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            tell(lines[-1])
    if process.returncode:
        raise Failed(f"{_shown(words)} has failed; above is why.")
    return lines


def _shown(words: Sequence[str | Path]) -> str:
    return " ".join([Path(words[0]).name, *map(str, words[1:])])[:200]


@dataclass(frozen=True)
class Kube:
    """A way to a cluster: kubectl and helm, each with the words and the variables that lead there."""

    kubectl_words: tuple[str, ...]
    helm_words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    def kubectl(self, *words: str, stdin: str = "", limit: float = 60) -> str:
        """What kubectl prints."""
        return run([*self.kubectl_words, *words], stdin, self.env, limit)

    def helm(self, *words: str, limit: float = 60) -> str:
        """What helm prints."""
        return run([*self.helm_words, *words], "", self.env, limit)

    def get(self, kind: str, name: str) -> Object | None:
        """An object without a namespace; None: it is not there."""
        text = self.kubectl("get", kind, name, "--output=json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, kind: str, *options: str) -> list[Object]:
        """Objects."""
        found: list[Object] = json.loads(self.kubectl("get", kind, "--output=json", *options))["items"]
        return found
