"""Three kinds of clusters with the same operations, and the facts that determine the choice between them."""

import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from choice import Machine
from command import ROOT, Kube, run, stream

__all__ = ["Cluster", "ForeignCluster", "KindCluster", "OwnCluster", "this_machine"]

Tell = Callable[[str], None]


class Cluster(ABC):
    """Cluster for the demo.

    Attributes:
        title: its name on the screen.
        ours: whether it was created for the demo, and is removed with it.
        hint: how long `up` takes.
    """

    title: str
    ours = True
    hint = ""

    @abstractmethod
    def up(self, tell: Tell) -> None:
        """Start the cluster. Do nothing if it is up."""

    @abstractmethod
    def is_up(self) -> bool:
        """Return whether the cluster is up."""

    @abstractmethod
    def kube(self) -> Kube:
        """Return the access to the cluster, which must be up."""

    @abstractmethod
    def way(self) -> Sequence[str]:
        """Return the commands to type before kubectl can access it."""

    def load(self, archives: Sequence[str], tell: Tell) -> None:
        """Load images onto its nodes."""

    def down(self, tell: Tell) -> None:
        """Remove the cluster and everything in it. Do nothing if there is none."""


class OwnCluster(Cluster):
    """Cluster of tests/cluster/cluster."""

    hint = "the first time builds it: about 10 minutes on 2 cores"

    def __init__(self, name: str) -> None:
        self.title = f"our own one-node Kubernetes '{name}'"
        self._words = [str(ROOT / "tests" / "cluster" / "cluster"), "--name", name]

    def up(self, tell: Tell) -> None:
        """Build missing programs, and start the cluster; it reports its changes to the machine."""
        stream([*self._words, "up"], tell)

    def is_up(self) -> bool:
        """Return whether its processes run."""
        return " is up:" in run([*self._words, "status"], limit=600)

    def host(self) -> str:
        """Return the address at which pods can reach this machine. The cluster must be up."""
        return str(json.loads(run([*self._words, "status", "--json"]))["Network"]["Host"])

    def kube(self) -> Kube:
        """Return the access with the kubectl and helm of the cluster, without any proxy."""
        config = self._config()
        server = yaml.safe_load(Path(config).read_text())["clusters"][0]["cluster"]["server"]
        direct = ",".join(filter(None, (os.environ.get("NO_PROXY"), urlsplit(server).hostname)))
        env = {"KUBECONFIG": config, "NO_PROXY": direct, "no_proxy": direct}
        return Kube((self._path("kubectl"),), (self._path("helm"),), env)

    def way(self) -> Sequence[str]:
        """Return the commands for its kubeconfig, and for its programs if you have none."""
        export = f"export KUBECONFIG={self._config()}"
        if all(map(shutil.which, ("kubectl", "helm"))):
            return [export]
        return [export, f"export PATH=$PATH:{Path(self._path('kubectl')).parent}"]

    def load(self, archives: Sequence[str], tell: Tell) -> None:
        """Load images in parallel."""
        stream([*self._words, "load", *archives], tell)

    def down(self, tell: Tell) -> None:
        """Remove the cluster with its state folder. Built programs are kept."""
        stream([*self._words, "down"], tell)

    def _config(self) -> str:
        return run([*self._words, "kubeconfig"]).strip()

    def _path(self, program: str) -> str:
        return run([*self._words, "path", program], limit=600).strip()


class KindCluster(Cluster):
    """Cluster created by kind. Its kubeconfig is a file of the demo, not yours."""

    hint = "about a minute, and more when kind's image is pulled"

    def __init__(self, name: str) -> None:
        self.title = f"the kind cluster 'penstock-{name}'"
        self._kubeconfig = ROOT / "penstock-demo" / f"kubeconfig-{name}"
        self._name = ("--name", f"penstock-{name}")
        self._config = ("--kubeconfig", str(self._kubeconfig))

    def up(self, tell: Tell) -> None:
        """Create a cluster of one node from kind-config.yaml."""
        self._kubeconfig.parent.mkdir(exist_ok=True)
        if self.is_up():
            run(["kind", "export", "kubeconfig", *self._name, *self._config])
        else:
            made = ("--config", str(ROOT / "kind-config.yaml"), "--wait", "180s")
            stream(["kind", "create", "cluster", *self._name, *self._config, *made], tell)

    def is_up(self) -> bool:
        """Return whether kind lists it."""
        return self._name[1] in run(["kind", "get", "clusters"]).split()

    def kube(self) -> Kube:
        """Return the access with your kubectl and helm."""
        return Kube(("kubectl",), ("helm",), {"KUBECONFIG": str(self._kubeconfig)})

    def way(self) -> Sequence[str]:
        """Return the command for its kubeconfig."""
        return [f"export KUBECONFIG={self._kubeconfig}"]

    def load(self, archives: Sequence[str], tell: Tell) -> None:
        """Load images one after the other."""
        for archive in archives:
            stream(["kind", "load", "image-archive", archive, *self._name], tell)

    def down(self, tell: Tell) -> None:
        """Remove the cluster and its kubeconfig."""
        stream(["kind", "delete", "cluster", *self._name, *self._config], tell)
        self._kubeconfig.unlink(missing_ok=True)


class ForeignCluster(Cluster):
    """Cluster that you have named. Only changes that you have confirmed are made; no images are loaded."""

    ours = False

    def __init__(self, kubeconfig: Path, context: str) -> None:
        self.title = f"yours, context '{context}'"
        self._kubeconfig, self._context = str(kubeconfig), context

    def up(self, tell: Tell) -> None:
        """Check that the cluster answers.

        Raises:
            Failed: it does not.
        """
        self.kube().kubectl("version", limit=20)

    def is_up(self) -> bool:
        """Return True if the cluster answers.

        Raises:
            Failed: it does not.
        """
        self.up(lambda line: None)
        return True

    def kube(self) -> Kube:
        """Return the access with your kubectl and helm, and the context that you named."""
        kubectl = ("kubectl", "--context", self._context)
        return Kube(kubectl, ("helm", "--kube-context", self._context), {"KUBECONFIG": self._kubeconfig})

    def way(self) -> Sequence[str]:
        """Return the commands for its kubeconfig and context."""
        return [f"export KUBECONFIG={self._kubeconfig}", f"alias kubectl='kubectl --context {self._context}'"]


def this_machine() -> Machine:
    """Return the facts about this machine for the choice of a cluster."""
    programs = {name for name in ("kind", "kubectl", "helm", "go") if shutil.which(name)}
    cache = Path(os.environ.get("PENSTOCK_CACHE", Path.home() / ".cache" / "penstock"))
    if any(cache.glob("cluster/tools-*")):
        programs.add("go")
    docker = shutil.which("docker")
    engine = docker and subprocess.run([docker, "info"], capture_output=True, timeout=30, check=False).returncode == 0
    return Machine(sys.platform == "linux", os.geteuid() == 0, bool(engine), frozenset(programs))
