"""Warehouse demo on a cluster: a PostgreSQL table that changes is copied through Kafka into a table of another database.

`make demo-warehouse ARGS=--cluster` runs it, on the cluster of `make demo`, which `make demo-down` removes. PostgreSQL runs
on this machine; the connectors (examples/warehouse/cluster) and their plugin, from its image, run on the cluster. The pod of
the sink is killed once; at the end the two tables are compared. Run it again, and it continues where it stopped.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from choice import choose
from clusters import OwnCluster, this_machine
from command import ROOT, Failed, Kube, Object
from install import Installation
from scene import look_at_connectors
from screen import Screen

from penstock.errors import ConnectError

sys.path.append(str(ROOT / "examples" / "shared"))
from postgresql import PostgreSQL, programs
from warehouse_play import SINK, SOURCE, TABLE, TOPIC, Play

MANIFESTS = ROOT / "examples" / "warehouse" / "cluster"
KINDS = "connectors,topiccreationpolicies,pluginversions"
REMOVE = "`PENSTOCK_CLUSTER=own make demo-down` removes the cluster."


def main() -> int:
    """Run until Ctrl-C, or for `--seconds`.

    Returns:
        0 if the tables are equal, 1 if they differ or could not be compared, 2 if the demo is not possible here, 130 if the
        installation was interrupted.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    screen = Screen()
    if os.environ.get("PENSTOCK_CLUSTER", "own") != "own":
        screen.say(
            "Pods can reach the PostgreSQL of this machine only on the demo's own cluster: set PENSTOCK_CLUSTER=own. On "
            "your cluster, apply examples/warehouse/cluster with the address of your PostgreSQL.",
            "red",
        )
        return 2
    try:
        choose("own", this_machine())
    except ValueError as e:
        screen.say(f"{e} Without --cluster the warehouse runs on SQLite, without Kubernetes.", "red")
        return 2
    try:
        found = programs(screen.say)
    except ConnectError as e:
        screen.say(str(e), "red")
        return 2
    cluster = OwnCluster("demo")
    try:
        installation = Installation(cluster, screen, "", None)
        kube = installation.platform()
        # Kafka's data is lost with its pod. Tables that are created with the pod agree with its topics and offsets.
        uid = kube.kubectl("get", "pod", "kafka-0", "--namespace=kafka", "--output=jsonpath={.metadata.uid}")
        folder = Path(tempfile.gettempdir()) / f"penstock-warehouse-{uid}"
        if not folder.exists() and SOURCE in look_at_connectors(kube):
            screen.say(
                "The connectors were created for another Kafka pod, and their positions were lost with it.", "red"
            )
            screen.say(f"{REMOVE} Then run the demo again.")
            return 1
        with PostgreSQL(found, folder, cluster.host()) as server, connected(installation, kube, server):
            same = Play(kube, screen, server, options.rate, options.seconds).run()
    except (Failed, ConnectError, psycopg.Error) as e:
        screen.say(str(e), "red")
        screen.say(f"`make demo-warehouse ARGS=--cluster` continues where this stopped; {REMOVE}")
        return 1
    except KeyboardInterrupt:
        screen.say(f"\nStopped. The installation is kept, and the next run continues with it; {REMOVE}")
        return 130
    screen.say(f"The connectors are Stopped and keep their positions; the next run continues with them. {REMOVE}")
    screen.say("\n".join(["To see them:", *cluster.way(), f"kubectl get {KINDS} --namespace demo"]))
    return 0 if same else 1


@contextmanager
def connected(installation: Installation, kube: Kube, server: PostgreSQL) -> Iterator[None]:
    """Create the two tables and the connectors between them; stop the connectors at the end, before PostgreSQL."""
    screen = installation.screen
    with screen.step("Databases shop and warehouse: PostgreSQL on this machine"):
        for database in ("shop", "warehouse"):
            server.make(database)
        with server.connect("shop") as shop:
            shop.execute(TABLE)
    with screen.step("Plugin, from its image: connectors/sql") as tell, tempfile.TemporaryDirectory() as out:
        installation.plugin(ROOT / "connectors" / "sql", "plugins.example/penstock-sql", Path(out), tell)
        kube.kubectl("apply", "--namespace=demo", f"--filename={out}/pluginversion.yaml")
    with screen.step("Connectors and topics: examples/warehouse/cluster"):
        secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "warehouse"}}
        secret["stringData"] = {"password": server.password}
        kube.kubectl("apply", "--namespace=demo", "--filename=-", stdin=json.dumps(secret))
        kube.kubectl("apply", "--namespace=demo", f"--filename={MANIFESTS}")
        installation.witness(kube, TOPIC)
    try:
        yield
    finally:
        with screen.step("The connectors are stopped"):
            patch = '--patch={"spec":{"state":"Stopped"}}'
            kube.kubectl("patch", "connectors", SOURCE, SINK, "--namespace=demo", "--type=merge", patch)
            stopped = ("--for=jsonpath={.status.state}=Stopped", "--timeout=60s")
            kube.kubectl("wait", "connectors", SOURCE, SINK, "--namespace=demo", *stopped, limit=70)


if __name__ == "__main__":
    sys.exit(main())
