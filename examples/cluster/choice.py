"""Which cluster the demo runs on. Pure: facts about the machine in, a choice out.

A kubeconfig that happens to lie in the environment plays no part: a cluster of yours is used only when you name it.
"""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Choice", "Foreign", "Kind", "Local", "Machine", "Own", "choose"]

_WORDS = "own, kind or KUBECONFIG#CONTEXT, such as ~/.kube/config#staging"


@dataclass(frozen=True)
class Own:
    """A one-node cluster of this project's own: tests/cluster/cluster."""


@dataclass(frozen=True)
class Kind:
    """A cluster in Docker, made by kind."""


@dataclass(frozen=True)
class Foreign:
    """A cluster that is there already, and that others may use."""

    kubeconfig: Path
    context: str


@dataclass(frozen=True)
class Local:
    """None: the demo runs without Kubernetes."""

    why: str


Choice = Own | Kind | Foreign | Local


@dataclass(frozen=True)
class Machine:
    """What counts about this machine.

    Attributes:
        linux: whether its system is Linux.
        root: whether we are root.
        docker: whether a Docker engine answers.
        programs: which of kind, kubectl, helm and go are installed. go counts as installed where all that it would build
            is built.
    """

    linux: bool
    root: bool
    docker: bool
    programs: frozenset[str]


def choose(wanted: str, machine: Machine) -> Choice:
    """The cluster for the demo.

    Args:
        wanted: PENSTOCK_CLUSTER, empty when it is not set.
        machine: this one.

    Raises:
        ValueError: what is wanted has no such form, or is not possible here; says what to do.
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
        raise ValueError(f"PENSTOCK_CLUSTER={wanted} names no cluster: write {_WORDS}.")
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
