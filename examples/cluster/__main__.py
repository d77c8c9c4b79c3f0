"""Demo on a real Kubernetes cluster: data moves visibly, and continues exactly once after a pod is killed.

`make demo` runs it, `make demo-down` removes it. PENSTOCK_CLUSTER chooses the cluster: own, kind or KUBECONFIG#CONTEXT. If
unset, the demo uses a kind cluster if Docker and kind are available, else our own cluster if run as root on Linux, else it
runs without Kubernetes. It may be stopped at any time and run again: it continues with the existing cluster.

    choice      choice of the cluster
    clusters    operations on a cluster: up, load, down
    install     installation on the cluster, and its removal
    scene       state of the demo, and its display
    play        steps of the demo: start, records, a fault, the count
    witness     program in a pod that counts the records
    database    PostgreSQL in a pod, whose changes Debezium reads

`make demo-cdc ARGS=--cluster` runs on the same cluster:

    cdc             two versions of Debezium side by side

and so does `make demo-warehouse ARGS=--cluster`:

    warehouse       installation of the SQL connectors and their plugin
    warehouse_play  steps of the demo: changes, a fault, the comparison

examples/shared has the PostgreSQL server on this machine, and the comparison of a table with its copy.
"""

import argparse
import os
import signal
import sys
from typing import Final

from choice import Foreign, Kind, Local, Own, choose
from clusters import Cluster, ForeignCluster, KindCluster, OwnCluster, this_machine
from command import Failed
from install import NAMESPACES, Installation
from play import Play
from screen import Screen

_FORWARD: Final = "kubectl port-forward --namespace penstock-system service/penstock-console 8090"


def main() -> int:
    """Run the demo.

    Returns:
        0 if the count is right (or the removal is done), 1 if it is wrong or nothing could be counted, 2 if the cluster
        cannot be used or the user does not agree, 130 if the installation was interrupted.
    """
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    screen = Screen()
    try:
        chosen = choose(os.environ.get("PENSTOCK_CLUSTER", ""), this_machine())
    except ValueError as e:
        screen.say(str(e), "red")
        return 2
    match chosen:
        case Local(why):
            if options.down:
                screen.say(f"The demo cannot have a cluster here: {why}.")
                return 0
            screen.say(f"The demo runs without Kubernetes: {why}.")
            return _local(options)
        case Own():
            cluster: Cluster = OwnCluster(options.name)
        case Kind():
            cluster = KindCluster(options.name)
        case Foreign(kubeconfig, context):
            cluster = ForeignCluster(kubeconfig, context)
    if not cluster.ours and not options.yes and not _agreed(screen, cluster, options):
        return 2
    installation = Installation(cluster, screen, options.registry, options.rate)
    try:
        if options.down:
            installation.down()
            return 0
        return _play(installation, screen, options)
    except Failed as e:
        screen.say(str(e), "red")
        screen.say("`make demo` continues where this stopped; `make demo-down` removes everything.")
        return 1
    except KeyboardInterrupt:
        screen.say("\nStopped. The cluster is kept: `make demo` continues with it, `make demo-down` removes it.")
        return 130


def _play(installation: Installation, screen: Screen, options: argparse.Namespace) -> int:
    kube = installation.up()
    play = Play(kube, screen, options.seconds)
    screen.say()
    screen.say("To watch it on a page, in another terminal:")
    for line in (*installation.cluster.way(), f"{_FORWARD}   # then open http://localhost:8090"):
        screen.say(f"  {line}")
    screen.say()
    try:
        play.run()
    except KeyboardInterrupt:
        screen.say("\nStopped; counting. (Ctrl-C again: no count.)")
    good = play.count()
    screen.say()
    screen.say(_next_steps(installation.cluster))
    return 0 if good else 1


def _next_steps(cluster: Cluster) -> str:
    return "\n".join(
        [
            "The connectors keep running. Next steps:",
            *(f"  {line}" for line in cluster.way()),
            f"  {_FORWARD}   # the console, at http://localhost:8090",
            "  kubectl get connectors --namespace demo --watch",
            "  kubectl describe connector orders-in --namespace demo      # conditions, tasks, Events",
            "  kubectl get topiccreationpolicies --namespace demo          # rules by which its topics are created",
            "  kubectl get pluginversions --namespace demo --output wide   # versions of a plugin, and their users",
            "  kubectl logs --namespace demo --selector penstock.dev/connector=orders-in --follow",
            "  kubectl apply --namespace demo --filename examples/plugin-ticker/canary/connector.yaml      # back to 2.0.0",
            '  kubectl patch connector orders-in --namespace demo --type merge --patch \'{"spec":{"state":"Paused"}}\'',
            "  kubectl delete pods --namespace demo --selector penstock.dev/role=task      # all tasks together",
            "  kubectl apply --namespace demo --filename examples/connectors      # restores all, or applies your changes",
            "`make demo` runs it again, in seconds. `make demo-down` removes "
            + (
                "the cluster and everything in it."
                if cluster.ours
                else "everything that it installed, not the cluster."
            ),
        ]
    )


def _agreed(screen: Screen, cluster: Cluster, options: argparse.Namespace) -> bool:
    """Ask for confirmation before changing a cluster that is not ours, and return whether the user agrees."""
    where = f"{options.registry}/" if options.registry else ""
    does = "remove the namespaces" if options.down else "create the namespaces"
    screen.say(f"PENSTOCK_CLUSTER={os.environ['PENSTOCK_CLUSTER']}")
    screen.say(f"On that cluster, the demo will {does} {', '.join(NAMESPACES)}, the Helm release penstock")
    screen.say("with its roles and definitions (unless they belong to others), a Kafka and two connectors.")
    if not options.down:
        screen.say(f"Its nodes must have, or be able to pull, the images {where}penstock-runtime,")
        screen.say(f"{where}penstock-operator and {where}penstock-demo-kafka of this version")
        screen.say("(scripts/images builds them; set --registry PREFIX for their registry).")
    if not sys.stdin.isatty():
        screen.say("Cannot ask for confirmation without a terminal: use --yes.", "red")
        return False
    return screen.ask("Continue?")


def _local(options: argparse.Namespace) -> int:
    words = [f"--{name}={value}" for name in ("rate", "seconds") if (value := getattr(options, name)) is not None]
    options_of_make = ("--keep=penstock-demo", "--backlog=1000000")  # as `make demo-local`
    os.execv(sys.executable, [sys.executable, "-m", "penstock_cli", "demo", *options_of_make, *words])  # noqa: S606


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("make demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--seconds",
        type=float,
        help="stop and count this many seconds after the first record has come out, but not before the steps are over",
    )
    parser.add_argument("--rate", type=int, help="records per second")
    parser.add_argument("--down", action="store_true", help="remove everything")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation before using your cluster")
    parser.add_argument(
        "--registry", default="", metavar="PREFIX", help="registry from which that cluster pulls the images"
    )
    parser.add_argument("--name", default="demo", help="the name of the demo's own cluster (%(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
