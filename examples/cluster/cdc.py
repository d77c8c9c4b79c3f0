"""Two versions of Debezium side by side on a cluster, in separate pods, which read the same changes, exactly once.

`make demo-cdc ARGS=--cluster` runs it, on the cluster of `make demo`, which `make demo-down` removes. A pod is killed, one
connector is upgraded to the other version and back, and at the end both topics are compared with a journal in the database.
Each run has a separate database, topics and connectors.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import yaml
from choice import Foreign, Kind, Local, Own, choose
from clusters import Cluster, KindCluster, OwnCluster, this_machine
from command import ROOT, Failed, Kube
from database import changed, events, journal, psql
from install import DEBEZIUM, Installation
from scene import Connector, look_at_connectors
from screen import Screen

from penstock.errors import ConnectError

sys.path.append(str(ROOT / "examples" / "shared"))
from debezium import EARLIER, LATEST
from events import counted

SEED = 1000  # orders before the connectors start
PATIENCE = 180.0  # seconds for a start, a replacement, or the last record
CALM = 8.0  # seconds of changes between two events
REMOVE = "`make demo-down` removes the cluster."


def main() -> int:
    """Run all steps, and then until Ctrl-C or for `--seconds`.

    Returns:
        0 if the count is right, 1 if it is wrong or nothing could be counted, 2 if the demo is not possible here, 130 if the
        installation was interrupted.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    screen = Screen()
    try:
        cluster = demo_cluster()
    except ValueError as e:
        screen.say(f"{e} Without --cluster the demo needs no Kubernetes.", "red")
        return 2
    try:
        installation = Installation(cluster, screen, "", None)
        kube = installation.platform()
        installation.postgresql(kube)
        installation.debezium(kube, EARLIER, LATEST)
        number = len(psql(kube, "SELECT datname FROM pg_database WHERE datname ~ '^cdc'").split()) + 1
        with connected(installation, kube, f"cdc{number}") as names:
            good = Play(kube, screen, f"cdc{number}", names, options.rate, options.seconds).run()
    except (Failed, ConnectError) as e:
        screen.say(str(e), "red")
        screen.say(f"Run it again, or inspect the cluster; {REMOVE}")
        return 1
    except KeyboardInterrupt:
        screen.say(f"\nStopped. {REMOVE}")
        return 130
    screen.say(f"The connectors are deleted, their topics are kept. {REMOVE}")
    screen.say("\n".join(["To inspect it:", *cluster.way(), "kubectl get connectors,pluginversions --namespace demo"]))
    return 0 if good else 1


def demo_cluster() -> Cluster:
    """Return the cluster of `make demo`.

    Raises:
        ValueError: there can be none here, or no images can be loaded into the cluster that PENSTOCK_CLUSTER names.
    """
    match choose(os.environ.get("PENSTOCK_CLUSTER", ""), this_machine()):
        case Local(why):
            raise ValueError(f"Kubernetes is not available: {why}.")
        case Own():
            return OwnCluster("demo")
        case Kind():
            return KindCluster("demo")
        case Foreign():
            raise ValueError("Images can be loaded only into the demo's cluster: set PENSTOCK_CLUSTER=own or kind.")


@contextmanager
def connected(installation: Installation, kube: Kube, database: str) -> Iterator[dict[str, str]]:
    """Create the database and a connector of each version, with its name as topic prefix; delete them at the end."""
    names = {f"{database}-earlier": EARLIER, f"{database}-latest": LATEST}
    with installation.screen.step(f"Database {database}, and a connector of each version"):
        psql(kube, f"CREATE DATABASE {database}", "postgres")
        shop = (
            "exec",
            "--namespace=demo",
            "postgresql-0",
            "--container=shop",
            "--",
            "psql",
            "-q",
            "-f",
            "/shop/shop.sql",
        )
        kube.kubectl(*shop, database)
        (template,) = yaml.safe_load_all((DEBEZIUM / "connector.yaml").read_text())
        for name, version in names.items():
            slot = name.replace("-", "_")
            own = {"database.dbname": database, "topic.prefix": name, "slot.name": slot, "publication.name": slot}
            template["metadata"]["name"] = name
            template["spec"] |= {"version": version, "config": template["spec"]["config"] | own}
            kube.kubectl("apply", "--namespace=demo", "--filename=-", stdin=json.dumps(template))
        installation.witness(kube, "shop-orders")
    try:
        yield names
    finally:
        with installation.screen.step("The connectors are deleted, and their replication slots dropped"):
            kube.kubectl("delete", "connectors", *names, "--namespace=demo", "--timeout=60s", limit=70)
            slots = "FROM pg_replication_slots WHERE database = current_database()"
            end = time.monotonic() + 60.0
            while psql(kube, f"SELECT slot_name {slots} AND active", database) and time.monotonic() < end:  # pods end
                time.sleep(1.0)
            psql(kube, f"SELECT pg_drop_replication_slot(slot_name) {slots}", database)


@dataclass(frozen=True)
class Seen:
    """State of the database and the connectors at a time in seconds, monotonic."""

    at: float
    changes: int
    connectors: dict[str, Connector]


class Play:
    """Changes orders, kills and upgrades a connector, and counts.

    Args:
        kube: the cluster.
        screen: the output.
        database: the database of the shop.
        names: the names of the connectors with their versions; the first one is killed and upgraded.
        rate: changes per second.
        seconds: minimum time during which orders change; None until Ctrl-C.
    """

    def __init__(
        self, kube: Kube, screen: Screen, database: str, names: dict[str, str], rate: int, seconds: float | None
    ) -> None:
        self._kube, self._screen, self._database, self._names = kube, screen, database, names
        self._rate, self._seconds = rate, seconds
        self._begun = time.monotonic()
        self._rates_from: float | None = None
        self._done = 0.0

    def run(self) -> bool:
        """Run all steps, and return whether both topics have every change once.

        Raises:
            Failed: a connector does not start or restart in time.
        """
        try:
            self._play()
        except KeyboardInterrupt:
            self._screen.say("\nNo more changes; counting. (Ctrl-C again: no count.)")
        return self._count()

    def _play(self) -> None:
        one = next(iter(self._names))
        for name, version in self._names.items():
            self._until(f"{name} runs", lambda seen, name=name, version=version: _runs(seen, name, version))
            if len(events(self._kube, _topic(name), SEED)) < SEED:
                raise Failed(f"The snapshot of {name} is not in topic {_topic(name)} after a minute.")
        self._note(f"Both snapshots are in Kafka, {SEED:,} records each. Now orders change.")
        self._rates_from = began = time.monotonic()
        self._calm()
        pod = self._look().connectors[one].pod
        killed = time.monotonic()
        words = ("delete", "pod", pod, "--namespace=demo", "--grace-period=0", "--force")
        self._note(f"Fault: kubectl {' '.join(words)}")
        self._kube.kubectl(*words)
        there = self._until(
            f"{pod} is replaced",
            lambda seen: _runs(seen, one, self._names[one]) and seen.connectors[one].pod != pod,
        )
        self._note(f"{there.connectors[one].pod} replaces it, {there.at - killed:.0f} s after the kill.")
        self._calm()
        for what, version in (("Upgrade", LATEST), ("Rollback", EARLIER)):
            patch = json.dumps({"spec": {"version": version}})
            words = ("patch", "connector", one, "--namespace=demo", "--type=merge", f"--patch={patch}")
            self._note(f"{what}: kubectl {' '.join(words)}")
            self._kube.kubectl(*words)
            self._until(f"{one} runs {version}", lambda seen, version=version: _runs(seen, one, version))
            self._note(f"{one} runs {version}.")
            self._calm()
        self._note(
            "All steps are complete." + (" Ctrl-C stops the changes and counts." if self._seconds is None else "")
        )
        while self._seconds is None or time.monotonic() < began + self._seconds:
            self._look()

    def _calm(self) -> None:
        end = time.monotonic() + CALM
        while time.monotonic() < end:
            self._look()

    def _until(self, what: str, claim: Callable[[Seen], bool]) -> Seen:
        end = time.monotonic() + PATIENCE
        while not claim(seen := self._look()):
            if time.monotonic() > end or any(c.stalled for c in seen.connectors.values()):
                reasons = [f"\n  {c.name}: {c.reason}: {c.message}" for c in seen.connectors.values()]
                raise Failed(f"Timed out, or a connector stalled, while waiting until {what}.{''.join(reasons)}")
        return seen

    def _look(self) -> Seen:
        """Change orders for a second, and return the new state."""
        time.sleep(1.0)
        if self._rates_from is not None:
            due = int((time.monotonic() - self._rates_from) * self._rate - self._done)
            self._done += due
            psql(self._kube, f"SELECT change_orders({due})", self._database)
        connectors = {n: c for n, c in look_at_connectors(self._kube).items() if n in self._names}
        seen = Seen(time.monotonic(), changed(self._kube, self._database), connectors)
        states = ", ".join(f"{c.name} {c.versions or '-'} {c.reason or c.state}" for c in connectors.values())
        self._note(f"{seen.changes:,} changes; {states}")
        return seen

    def _count(self) -> bool:
        changes = changed(self._kube, self._database)
        kept = journal(self._kube, changes, self._database)
        say = self._screen.say
        say("The count, after the last change:")
        all_good = True
        for name, version in self._names.items():
            text, good = counted(kept, events(self._kube, _topic(name), changes))
            say(f"  topic {_topic(name)} (read_committed), of {name}, version {version}: {text}")
            all_good &= good
        return all_good

    def _note(self, text: str) -> None:
        self._screen.say(f"{time.monotonic() - self._begun:7.1f} s {text}")


def _topic(name: str) -> str:
    return f"{name}.public.orders"


def _runs(seen: Seen, name: str, version: str) -> bool:
    connector = seen.connectors.get(name)
    return connector is not None and connector.ready == "True" and connector.versions == version


if __name__ == "__main__":
    sys.exit(main())
