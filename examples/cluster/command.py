"""Execution of other programs: kubectl, helm and the scripts of this project."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Failed", "Kube", "Object", "run", "stream"]

Object = dict[str, Any]
"""Kubernetes object in the form of its JSON."""

ROOT = Path(__file__).resolve().parents[2]


class Failed(Exception):
    """Raised when the demo cannot continue. The message contains the cause and a remedy."""


def run(words: Sequence[str | Path], stdin: str = "", env: Mapping[str, str] | None = None, limit: float = 60) -> str:
    """Run a program, and return its standard output.

    Raises:
        Failed: it failed, with its output, or did not end within `limit` seconds.
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
    """Run a program, pass each line of its output to `tell` immediately, and return all lines.

    Raises:
        Failed: it failed.
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
        raise Failed(f"{_shown(words)} failed; see its output above.")
    return lines


def _shown(words: Sequence[str | Path]) -> str:
    return " ".join([Path(words[0]).name, *map(str, words[1:])])[:200]


@dataclass(frozen=True)
class Kube:
    """Access to a cluster: kubectl and helm, with the arguments and environment variables for it."""

    kubectl_words: tuple[str, ...]
    helm_words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    def kubectl(self, *words: str, stdin: str = "", limit: float = 60) -> str:
        """Run kubectl, and return its output."""
        return run([*self.kubectl_words, *words], stdin, self.env, limit)

    def helm(self, *words: str, limit: float = 60) -> str:
        """Run helm, and return its output."""
        return run([*self.helm_words, *words], "", self.env, limit)

    def get(self, kind: str, name: str) -> Object | None:
        """Return a cluster-scoped object, or None if it does not exist."""
        text = self.kubectl("get", kind, name, "--output=json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, kind: str, *options: str) -> list[Object]:
        """Return the objects of a kind."""
        found: list[Object] = json.loads(self.kubectl("get", kind, "--output=json", *options))["items"]
        return found
