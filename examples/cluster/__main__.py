"""The demo: data that visibly moves on a real Kubernetes, and goes on exactly once when a pod is killed.

`make demo` runs it, `make demo-down` removes it. PENSTOCK_CLUSTER chooses the cluster: own, kind or KUBECONFIG#CONTEXT;
unset, it is a kind cluster where Docker and kind are there, else our own where we are root on Linux, else none, and the
demo runs without Kubernetes. It may be stopped at any time and run again: it goes on with what is there.

    choice      which cluster
    clusters    its verbs: up, load, down
    install     what is put onto it, and removed
    scene       what is looked at, and how it reads
    play        what happens: start, records, a fault, the count
    witness     who counts: a program in a pod
    database    PostgreSQL in a pod, whose changes Debezium reads

On the same cluster runs `make demo-cdc ARGS=--cluster`:

    cdc             two versions of Debezium side by side

and `make demo-warehouse ARGS=--cluster`:

    warehouse       what is put onto it: the SQL connectors and their plugin
    warehouse_play  what happens: changes, a fault, the comparison

and from examples/shared the server on this machine, and whether a table is a copy of another one.
"""

import argparse
import os
import signal
import sys

from choice import Foreign, Kind, Local, Own, choose
from clusters import Cluster, ForeignCluster, KindCluster, OwnCluster, this_machine
from command import ROOT, Failed
from install import NAMESPACES, Installation
from play import Play
from screen import Screen


def main() -> int:
    """Run the demo.

    Returns:
        0 when the count is right (or what was asked for is done), 1 when it is wrong or nothing could be counted, 2 when
        what is asked for is not possible or not agreed to, 130 when the installation was interrupted.
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
                screen.say(f"No cluster of the demo's can be here: {why}.")
                return 0
            screen.say(f"No Kubernetes here, so the demo runs without it: {why}.")
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
        screen.say("`make demo` goes on where this stopped; `make demo-down` removes everything.")
        return 1
    except KeyboardInterrupt:
        screen.say("\nStopped. What was made stays: `make demo` goes on with it, `make demo-down` removes it.")
        return 130


def _play(installation: Installation, screen: Screen, options: argparse.Namespace) -> int:
    kube = installation.up()
    play = Play(kube, screen, options.seconds)
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
            "It goes on without us. Type next:",
            *(f"  {line}" for line in cluster.way()),
            "  kubectl get connectors --namespace demo --watch",
            "  kubectl describe connector orders-in --namespace demo      # conditions, tasks, Events",
            "  kubectl get topiccreationpolicies --namespace demo          # by which rules its topics are created",
            "  kubectl get pluginversions --namespace demo --output wide   # versions of a plugin, and who runs them",
            "  kubectl logs --namespace demo --selector penstock.dev/connector=orders-in --follow",
            "  kubectl apply --namespace demo --filename examples/plugin-ticker/canary/connector.yaml      # back to 2.0.0",
            '  kubectl patch connector orders-in --namespace demo --type merge --patch \'{"spec":{"state":"Paused"}}\'',
            "  kubectl delete pods --namespace demo --selector penstock.dev/role=task      # all at once",
            "  kubectl apply --namespace demo --filename examples/connectors      # after a change of yours; puts all back",
            "`make demo` plays it again, in seconds. `make demo-down` removes "
            + ("the cluster and everything in it." if cluster.ours else "what it made, and leaves the cluster."),
        ]
    )


def _agreed(screen: Screen, cluster: Cluster, options: argparse.Namespace) -> bool:
    """Ask before anything is done to a cluster that is not ours."""
    where = f"{options.registry}/" if options.registry else ""
    does = "remove the namespaces" if options.down else "make the namespaces"
    screen.say(f"PENSTOCK_CLUSTER={os.environ['PENSTOCK_CLUSTER']}")
    screen.say(f"On that cluster, the demo will {does} {', '.join(NAMESPACES)}, the Helm release penstock")
    screen.say("with its roles and definitions (where they are not somebody else's), a Kafka and two connectors.")
    if not options.down:
        screen.say(f"Its nodes must have, or find, the images {where}penstock-runtime, {where}penstock-operator and")
        screen.say(
            f"{where}penstock-demo-kafka, of this version (scripts/images builds them; --registry PREFIX says where)."
        )
    if not sys.stdin.isatty():
        screen.say("Nobody can be asked here: say --yes.", "red")
        return False
    return screen.ask("Go on?")


def _local(options: argparse.Namespace) -> int:
    words = [f"--{name}={value}" for name in ("rate", "seconds") if (value := getattr(options, name)) is not None]
    os.execv(sys.executable, [sys.executable, str(ROOT / "examples" / "demo" / "run.py"), *words])  # noqa: S606


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("make demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, help="stop so long after the first record has come out, and count")
    parser.add_argument("--rate", type=int, help="records per second")
    parser.add_argument("--down", action="store_true", help="remove it all")
    parser.add_argument("--yes", action="store_true", help="do not ask before a cluster that is not the demo's is used")
    parser.add_argument("--registry", default="", metavar="PREFIX", help="where that cluster finds the images")
    parser.add_argument("--name", default="demo", help="the name of the demo's own cluster (%(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
