"""Choice of the cluster for the demo, from facts about the machine. Pure.

A kubeconfig in the environment is ignored: your cluster is used only if you name it.
"""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Choice", "Foreign", "Kind", "Local", "Machine", "Own", "choose"]

_WORDS = "own, kind or KUBECONFIG#CONTEXT, such as ~/.kube/config#staging"


@dataclass(frozen=True)
class Own:
    """One-node cluster of this project: tests/cluster/cluster."""


@dataclass(frozen=True)
class Kind:
    """Cluster in Docker, created by kind."""


@dataclass(frozen=True)
class Foreign:
    """Existing cluster, which others may use."""

    kubeconfig: Path
    context: str


@dataclass(frozen=True)
class Local:
    """No cluster: the demo runs without Kubernetes."""

    why: str


Choice = Own | Kind | Foreign | Local


@dataclass(frozen=True)
class Machine:
    """Facts about this machine.

    Attributes:
        linux: whether the operating system is Linux.
        root: whether the demo runs as root.
        docker: whether a Docker engine answers.
        programs: the installed ones of kind, kubectl, helm and go. go is considered installed if everything that it would
            build is already built.
    """

    linux: bool
    root: bool
    docker: bool
    programs: frozenset[str]


def choose(wanted: str, machine: Machine) -> Choice:
    """Choose the cluster for the demo.

    Args:
        wanted: PENSTOCK_CLUSTER, empty if it is not set.
        machine: this machine.

    Raises:
        ValueError: `wanted` has another form, or is not possible here. The message contains a remedy.
    """
    kind, own = _lacks_for_kind(machine), _lacks_for_own(machine)
    match wanted:
        case "own" if own:
            raise ValueError(f"PENSTOCK_CLUSTER=own is not possible here: {own}.")
        case "kind" if kind:
            raise ValueError(f"PENSTOCK_CLUSTER=kind is not possible here: {kind}.")
        case "own":
            return Own()
        case "kind":
            return Kind()
        case "" if not kind:
            return Kind()
        case "" if not own:
            return Own()
        case "":
            return Local(f"{kind} (for kind); {own} (for our own)")
    kubeconfig, mark, context = wanted.rpartition("#")
    if not (mark and kubeconfig and context):
        raise ValueError(f"PENSTOCK_CLUSTER={wanted} does not name a cluster: write {_WORDS}.")
    path = Path(kubeconfig).expanduser()
    if not path.is_file():
        raise ValueError(f"PENSTOCK_CLUSTER={wanted}: there is no file {path}. Write {_WORDS}.")
    missing = [name for name in ("kubectl", "helm") if name not in machine.programs]
    if missing:
        raise ValueError(f"PENSTOCK_CLUSTER={wanted} needs {' and '.join(missing)}: install it.")
    return Foreign(path.resolve(), context)


def _lacks_for_kind(machine: Machine) -> str:
    missing = [name for name in ("kind", "kubectl", "helm") if name not in machine.programs]
    if not machine.docker:
        return "no Docker engine answers"
    return f"{' and '.join(missing)} is not installed" if missing else ""


def _lacks_for_own(machine: Machine) -> str:
    if not (machine.linux and machine.root):
        return "it needs root on Linux"
    return "" if "go" in machine.programs else "Go, which builds it, is not installed (https://go.dev/dl)"
