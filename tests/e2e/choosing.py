"""Which Kubernetes the tests run on: PENSTOCK_CLUSTER=own | kind | <kubeconfig>#<context>.

By default it is our own one (tests/cluster) as root on Linux, and kind where a Docker engine answers and `kind` is
installed. A kubeconfig that merely lies around in the environment is never used: it may be anybody's cluster.

`own` with PENSTOCK_CLUSTER_NAME: a cluster of that name that is up already is used, and left up. PENSTOCK_IMAGES=loaded:
the images are on the nodes already. PENSTOCK_IMAGES_REGISTRY: a prefix under which a foreign cluster finds them.
"""

import contextlib
import os
import platform
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .cluster import ROOT, SCRIPT, Cluster

__all__ = ["Absent", "Broken", "archive", "chosen", "cluster", "own_cluster"]

_IMAGES: Final = {
    "runtime": "penstock-runtime",
    "operator": "penstock-operator",
    "kafka": "penstock-demo-kafka",
    "postgresql": "penstock-demo-postgresql",
}


class Absent(Exception):
    """There is no cluster to be had here; why."""


class Broken(Exception):
    """One should be there, and has not come up."""


def chosen() -> str:
    """`own`, `kind`, or `<kubeconfig>#<context>`.

    Raises:
        Absent: none is possible here.
    """
    asked = os.environ.get("PENSTOCK_CLUSTER", "")
    if asked in ("own", "kind"):
        return asked
    if asked:
        file, mark, context = asked.rpartition("#")
        if not (mark and file and context):
            raise Absent(f"PENSTOCK_CLUSTER is {asked}; write own, kind, or <kubeconfig path>#<context>")
        if not Path(file).is_file():
            raise Absent(f"PENSTOCK_CLUSTER names the kubeconfig {file}, which is no file")
        return asked
    if shutil.which("kind") and _succeeds("docker", "info"):
        return "kind"
    if platform.system() == "Linux" and os.geteuid() == 0:
        return "own"
    raise Absent("our own cluster needs root on Linux, and kind needs Docker and the program kind")


@contextlib.contextmanager
def cluster(choice: str) -> Iterator[Cluster]:
    """The cluster of all tests, with the images on it, until the block ends.

    Raises:
        Absent: it is not enough to know of it.
        Broken: it has not come up.
    """
    if choice == "own":
        with own_cluster(os.environ.get("PENSTOCK_CLUSTER_NAME")) as found:
            yield found
    elif choice == "kind":
        with _kind() as found:
            yield found
    else:
        yield _foreign(choice)


@contextlib.contextmanager
def own_cluster(given: str | None = None, word: str = "e2e") -> Iterator[Cluster]:
    """A cluster of tests/cluster, with the images on it.

    Args:
        given: the name of one that is up, and stays up; None: a new one.
        word: the beginning of the name of a new one.
    """
    name = given or f"{word}-{os.getpid()}"
    # The images first: nothing else can go wrong for so long.
    archives = _archives()
    if not given:
        # `--with-parent`: it goes with this process, however that ends.
        _run(str(SCRIPT), "--name", name, "up", "--with-parent", str(os.getpid()))
    try:
        programs = {p: _run(str(SCRIPT), "--name", name, "path", p) for p in ("kubectl", "helm")}
        if archives:
            _run(str(SCRIPT), "--name", name, "load", *archives.values())
        kubeconfig = Path(_run(str(SCRIPT), "--name", name, "kubeconfig"))
        yield Cluster("own", kubeconfig, programs, name=name, images=_local_names())
    finally:
        if not given:
            _run(str(SCRIPT), "--name", name, "down")


@contextlib.contextmanager
def _kind() -> Iterator[Cluster]:
    name = f"penstock-e2e-{uuid.uuid4().hex[:6]}"
    archives = _archives()
    folder = ROOT / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    kubeconfig = folder / "kubeconfig"
    config = str(ROOT / "kind-config.yaml")
    words = ("create", "cluster", "--name", name, "--config", config, "--kubeconfig", str(kubeconfig), "--wait", "120s")
    try:
        _run("kind", *words)
        for archive in archives.values():
            _run("kind", "load", "image-archive", archive, "--name", name)
        yield Cluster("kind", kubeconfig, _programs(), name=name, images=_local_names())
    finally:
        _run("kind", "delete", "cluster", "--name", name, "--kubeconfig", str(kubeconfig))
        shutil.rmtree(folder, ignore_errors=True)


def _foreign(choice: str) -> Cluster:
    file, _, context = choice.rpartition("#")
    registry = os.environ.get("PENSTOCK_IMAGES_REGISTRY", "").rstrip("/")
    if not registry and os.environ.get("PENSTOCK_IMAGES") != "loaded":
        raise Absent(
            "a cluster of yours cannot see images that are built here: push them (scripts/images tells where their "
            "archives are) and set PENSTOCK_IMAGES_REGISTRY to the prefix of their names, or load them into every "
            "node and set PENSTOCK_IMAGES=loaded"
        )
    images = {k: f"{registry}/{v}" if registry else v for k, v in _local_names().items()}
    return Cluster("foreign", Path(file).resolve(), _programs(), context=context, images=images)


def archive(image: str) -> str:
    """The file with an image, built if need be: for a node that joins later."""
    return _run(str(ROOT / "scripts" / "images"), image).split()[1]


def _archives() -> dict[str, str]:
    if os.environ.get("PENSTOCK_IMAGES") == "loaded":
        return {}
    lines = _run(str(ROOT / "scripts" / "images"), *_IMAGES).splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def _local_names() -> dict[str, str]:
    text = (ROOT / "pyproject.toml").read_text()
    version = next(line.split('"')[1] for line in text.splitlines() if line.startswith("version = "))
    return {kind: f"{name}:{version}" for kind, name in _IMAGES.items()}


def _programs() -> dict[str, str]:
    found = {}
    for program in ("kubectl", "helm"):
        path = shutil.which(program)
        found[program] = path or _run(str(SCRIPT), "path", program)
    return found


def _succeeds(*words: str) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _run(*words: str) -> str:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    except OSError as e:
        raise Broken(f"{words[0]}: {e.strerror}") from e
    if done.returncode:
        raise Broken(f"{' '.join(words)} has failed ({done.returncode})")
    return done.stdout.strip()
