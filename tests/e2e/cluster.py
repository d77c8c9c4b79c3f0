"""A Kubernetes that tests drive as its users do: with kubectl and Helm, on one kubeconfig."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from .api import Api

__all__ = ["ROOT", "SCRIPT", "Cluster", "Failed"]

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = ROOT / "tests" / "cluster" / "cluster"


class Failed(AssertionError):
    """A command has failed; its words."""


@dataclass(frozen=True)
class Cluster:
    """One cluster.

    Attributes:
        kind: `own`, `kind` or `foreign`.
        kubeconfig: how to reach it.
        programs: `kubectl` and `helm`.
        context: context of the kubeconfig; None: the current one.
        name: of our own one, or of kind's.
        images: by `runtime`, `operator`, `kafka`: references that its nodes can run.
    """

    kind: str
    kubeconfig: Path
    programs: Mapping[str, str]
    context: str | None = None
    name: str = ""
    images: dict[str, str] = field(default_factory=dict)

    @cached_property
    def api(self) -> Api:
        """Its API server."""
        return Api(self.kubeconfig, self.context)

    def kubectl(self, *words: str, stdin: str | None = None, seconds: float = 120) -> str:
        """Run kubectl; what it printed.

        Raises:
            Failed: it has failed.
        """
        context = ["--context", self.context] if self.context else []
        return self._run([self.programs["kubectl"], *context, *words], stdin, seconds)

    def helm(self, *words: str, stdin: str | None = None, seconds: float = 180) -> str:
        """Run Helm; what it printed."""
        context = ["--kube-context", self.context] if self.context else []
        return self._run([self.programs["helm"], *context, *words], stdin, seconds)

    def apply(self, text: str, namespace: str | None = None) -> str:
        """`kubectl apply` of YAML."""
        return self.kubectl("apply", *_in(namespace), "--filename=-", stdin=text)

    def delete_namespaces(self, *names: str, wait: bool = False) -> None:
        """Remove namespaces with all that is in them."""
        if names:
            self.kubectl("delete", "namespace", *names, "--ignore-not-found", f"--wait={str(wait).lower()}")

    def python(self, namespace: str, pod: str, program: str, *arguments: str, seconds: float = 90) -> str:
        """Run a Python program in a pod; what it printed."""
        return self.kubectl("exec", "-n", namespace, pod, "--", "python3", "-c", program, *arguments, seconds=seconds)

    def component(self, order: str, *words: str) -> None:
        """Stop, start or restart a part of the control plane or of the node, and wait until the API server answers again.

        Only our own cluster lets us.
        """
        assert self.kind == "own"
        self._run([str(SCRIPT), "--name", self.name, order, *words], None, 120)
        self.api.answers()

    def on_node(self, *words: str) -> str:
        """Run a command as on the node; only our own cluster lets us."""
        assert self.kind == "own"
        return self._run([str(SCRIPT), "--name", self.name, "enter", *words], None, 60)

    def kill_pod(self, uid: str, signal: str = "KILL") -> None:
        """Send a signal to every process of a pod's containers, the first ones too, as only the node can."""
        pids = f"grep -l '{uid}\\|{uid.replace('-', '_')}' /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3"
        # A process may end by itself, or with another one, before its turn.
        self.on_node("sh", "-c", f'pids=$({pids}); [ -n "$pids" ] && {{ kill -{signal} $pids 2>/dev/null || true; }}')

    def _run(self, words: Sequence[str], stdin: str | None, seconds: float) -> str:
        env = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        source: Any = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        done: subprocess.CompletedProcess[str] = subprocess.run(
            words, env=env, capture_output=True, text=True, check=False, timeout=seconds, cwd=ROOT, **source
        )
        if done.returncode:
            raise Failed(f"{' '.join(words)[:2000]}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout


def _in(namespace: str | None) -> list[str]:
    return ["--namespace", namespace] if namespace else []
