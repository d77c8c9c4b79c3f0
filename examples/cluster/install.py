"""Installation of the demo on a cluster, and its removal: images, Kafka, Penstock, connectors, and the counting pod."""

import hashlib
import json
import secrets
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml
from clusters import Cluster
from command import ROOT, Failed, Kube, Object, run, stream
from scene import BACKLOG_TOPIC, BACKLOG_WITNESS, CHANGES_TOPIC, CHANGES_WITNESS
from screen import Screen

sys.path.append(str(ROOT / "examples" / "shared"))
from debezium import LATEST, archive

__all__ = ["Installation"]

HERE = Path(__file__).parent
POSTGRESQL = ROOT / "examples" / "postgresql"
DEBEZIUM = ROOT / "examples" / "debezium"
TICKER = ROOT / "examples" / "plugin-ticker"
VERSIONS = ("1.0.0", "2.0.0", "3.0.0")
NAMESPACES = ("demo", "kafka", "penstock-system")
MADE_CRDS = "penstock.dev/demo-made-definitions"
LOADED = "penstock.dev/demo-images"
"""Annotation of nodes with the loaded images, so that they are loaded once."""
CRDS = ("connectors.penstock.dev", "pluginversions.penstock.dev", "topiccreationpolicies.penstock.dev")


@dataclass(frozen=True)
class Installation:
    """Installation of the demo on a cluster.

    Args:
        registry: registry of the images, on a cluster that is not ours; empty if they are on its nodes.
        rate: records per second.
    """

    cluster: Cluster
    screen: Screen
    registry: str
    rate: int | None

    def up(self) -> Kube:
        """Install or update the demo. Every step may be repeated."""
        kube = self.platform()
        with self.screen.step("Connectors: examples/connectors"):
            for path in sorted((ROOT / "examples" / "connectors").glob("*.yaml")):
                kube.kubectl("apply", "--namespace", "demo", "--filename=-", stdin=self._at_rate(path.read_text()))
            self.witness(kube, "shop-orders")
            self.witness(kube, BACKLOG_TOPIC, name=BACKLOG_WITNESS, copies=2)
        if self.cluster.ours:
            self._plugins(kube)
            self.postgresql(kube)
            self.debezium(kube, LATEST)
            kube.kubectl("apply", "--namespace=demo", f"--filename={DEBEZIUM}/connector.yaml")
            self.witness(kube, CHANGES_TOPIC, name=CHANGES_WITNESS, number="id")
        return kube

    def platform(self) -> Kube:
        """Start a cluster with Kafka and Penstock, but without connectors."""
        cluster, step = self.cluster, self.screen.step
        with step(f"Cluster: {cluster.title}", cluster.hint) as tell:
            cluster.up(tell)
            kube = cluster.kube()
        images = self._images(kube) if cluster.ours else ""
        with step("Kafka and Penstock are applied", "helm upgrade --install"):
            self._refuse_others(kube)
            definitions = self._definitions(kube)
            kube.kubectl("apply", "--filename", str(HERE / "namespaces.yaml"))
            if definitions == "made":
                kube.kubectl("annotate", "namespace", "penstock-system", f"{MADE_CRDS}=true", "--overwrite")
            kafka = self._located((ROOT / "examples" / "kafka" / "kafka.yaml").read_text())
            kube.kubectl("apply", "--namespace", "kafka", "--filename=-", stdin=kafka)
            kube.helm(*self._release(images, definitions), limit=120)
        with step("Kafka and the operator run"):
            for namespace, what in (
                ("kafka", "statefulset/kafka"),
                ("penstock-system", "deployment/penstock-operator"),
            ):
                self._await(kube, namespace, what)
        return kube

    def witness(
        self, kube: Kube, topic: str, *, name: str = "witness", number: str = "order_id", copies: int = 1
    ) -> None:
        """Start a pod that counts the records of a topic from its beginning.

        Args:
            kube: the cluster.
            topic: the topic.
            name: name of the pod.
            number: field that numbers records.
            copies: how many records have the same number.
        """
        pod = yaml.safe_load(self._located((HERE / "witness.yaml").read_text()).replace("shop-orders", topic))
        pod["metadata"]["name"] = name
        (container,) = pod["spec"]["containers"]
        container["args"] = [(HERE / "witness.py").read_text()]
        container["env"] += [{"name": "NUMBER", "value": number}, {"name": "COPIES", "value": str(copies)}]
        kube.kubectl("delete", "pod", name, "--namespace", "demo", "--ignore-not-found", "--grace-period=1")
        kube.kubectl("create", "--namespace", "demo", "--filename=-", stdin=json.dumps(pod))

    def plugin(self, source: Path, image: str, out: Path, tell: Callable[[str], None]) -> str:
        """Build and load the image of a project or an archive of plugins; return its name with the digest."""
        build = [sys.executable, "-m", "penstock_cli", "plugin", "build", str(source)]
        name = run([*build, "--image", image, "--out", str(out)], limit=600).strip()
        self.cluster.load([str(out / f"{image.rpartition('/')[2]}.tar")], tell)
        return name

    def postgresql(self, kube: Kube) -> None:
        """Install or update PostgreSQL on the cluster, and wait until it answers."""
        with self.screen.step("PostgreSQL, in a pod: examples/postgresql"):
            if not kube.list("secrets", "--namespace=demo", "--field-selector=metadata.name=postgresql"):
                secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "postgresql"}}
                secret["stringData"] = {"password": secrets.token_urlsafe()}
                kube.kubectl("create", "--namespace=demo", "--filename=-", stdin=json.dumps(secret))
            shop: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}}
            shop["data"] = {"shop.sql": (POSTGRESQL / "shop.sql").read_text()}
            kube.kubectl("apply", "--namespace=demo", "--filename=-", stdin=json.dumps(shop))
            kube.kubectl("apply", "--namespace=demo", f"--filename={POSTGRESQL}/postgresql.yaml")
            self._await(kube, "demo", "statefulset/postgresql")

    def debezium(self, kube: Kube, *versions: str) -> None:
        """Load an image and apply a PluginVersion for each version of Debezium."""
        (manifest,) = yaml.safe_load_all((DEBEZIUM / "pluginversion.yaml").read_text())
        with self.screen.step(f"Debezium {' and '.join(versions)}, unmodified: examples/debezium") as tell:
            for version in versions:
                with tempfile.TemporaryDirectory() as out:
                    image = self.plugin(archive(version, tell), "plugins.example/debezium", Path(out), tell)
                manifest["metadata"]["name"] = f"debezium-{version.removesuffix('.Final')}"
                manifest["spec"]["image"] = image
                kube.kubectl("apply", "--namespace=demo", "--filename=-", stdin=json.dumps(manifest))

    def _plugins(self, kube: Kube) -> None:
        """Install a plugin in three versions, each with an image, and connectors of the first two; the third one fails."""
        with (
            self.screen.step("Versions of a plugin, side by side: examples/plugin-ticker") as tell,
            tempfile.TemporaryDirectory() as folder,
        ):
            images: dict[str, str] = {}
            for version in VERSIONS:
                out = Path(folder) / version
                images[version] = self.plugin(TICKER / version, "plugins.example/ticker", out, tell)
            for path in sorted([*TICKER.glob("*.yaml"), *TICKER.glob("canary/*.yaml")]):
                documents = list(yaml.safe_load_all(path.read_text()))
                for found in documents:
                    if found["kind"] == "PluginVersion":  # the digest depends on the architecture
                        found["spec"]["image"] = images[found["spec"]["version"]]
                text = yaml.safe_dump_all(documents)
                kube.kubectl("apply", "--namespace", "demo", "--filename=-", stdin=text)

    def down(self) -> None:
        """Remove the cluster if it is ours, else everything that the demo installed on it."""
        with self.screen.step(f"Remove {self.cluster.title}") as tell:
            if self.cluster.ours or not self.cluster.is_up():
                self.cluster.down(tell)
                return
            self._remove(self.cluster.kube(), tell)

    def _images(self, kube: Kube) -> str:
        """Build and load missing images, and return a hash of all of them."""
        with self.screen.step("Images", "the first time builds them: 5 to 10 minutes on 2 cores") as tell:
            words: list[str | Path] = ["nice", ROOT / "scripts" / "images"]
            lines = stream(words, lambda line: None if line.endswith(".tar") else tell(line))
            archives = [line.split()[1] for line in lines if line.endswith(".tar")]
            wanted = hashlib.sha256(" ".join(Path(a).parent.name for a in archives).encode()).hexdigest()[:12]
        nodes = kube.list("nodes")
        if any(node["metadata"].get("annotations", {}).get(LOADED) != wanted for node in nodes):
            with self.screen.step("Images are loaded onto the node", "half a minute") as tell:
                self.cluster.load(archives, tell)
                kube.kubectl("annotate", "nodes", "--all", "--overwrite", f"{LOADED}={wanted}")
        return wanted

    def _refuse_others(self, kube: Kube) -> None:
        for name in NAMESPACES:
            found = kube.get("namespace", name)
            if found and found["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "penstock-demo":
                raise Failed(
                    f"Namespace {name} exists and does not belong to the demo: remove it, or use another cluster."
                )
        operators = kube.list("deployments", "--all-namespaces", "--selector=app.kubernetes.io/name=penstock")
        for where in {o["metadata"]["namespace"] for o in operators} - set(NAMESPACES):
            raise Failed(
                f"Penstock already runs in namespace {where}: apply examples/connectors there, with your Kafka."
            )

    def _definitions(self, kube: Kube) -> str:
        """Return whether the demo installs the definitions ("made"), or others have installed them ("others'")."""
        if kube.get("crd", CRDS[0]) is None:
            return "made"
        system = kube.get("namespace", "penstock-system") or {"metadata": {}}
        return "made" if MADE_CRDS in system["metadata"].get("annotations", {}) else "others'"

    def _release(self, images: str, definitions: str) -> list[str]:
        prefix = f"{self.registry}/" if self.registry else ""
        settings = {
            "images.operator.repository": f"{prefix}penstock-operator",
            "images.runtime.repository": f"{prefix}penstock-runtime",
            "crds.install": json.dumps(definitions == "made"),
            # The tag does not change during development; this annotation starts pods with the new image.
            "operator.podAnnotations.demo-images": f"i{images}",
        }
        if not self.cluster.ours:
            settings["watchNamespaces"] = "{demo}"
        words = ["upgrade", "--install", "penstock", str(ROOT / "helm" / "penstock"), "--namespace", "penstock-system"]
        return [
            *words,
            "--values",
            str(HERE / "values.yaml"),
            "--set",
            ",".join(f"{k}={v}" for k, v in settings.items()),
        ]

    def _await(self, kube: Kube, namespace: str, what: str) -> None:
        try:
            kube.kubectl("rollout", "status", what, "--namespace", namespace, "--timeout=180s", limit=190)
        except Failed as e:
            pods = kube.kubectl("get", "pods", "--namespace", namespace)
            raise Failed(f"{e}\n{pods}\nLook: kubectl describe pods --namespace {namespace}") from e

    def _located(self, manifest: str) -> str:
        return manifest.replace("image: penstock-", f"image: {self.registry}/penstock-") if self.registry else manifest

    def _at_rate(self, manifest: str) -> str:
        connector = yaml.safe_load(manifest)
        if self.rate is not None and connector["spec"].get("class") == "Datagen":
            connector["spec"]["config"]["rate"] = self.rate
        return json.dumps(connector)

    def _remove(self, kube: Kube, tell: Callable[[str], None]) -> None:
        self._refuse_others(kube)
        system = kube.get("namespace", "penstock-system") or {"metadata": {}}
        made = MADE_CRDS in system["metadata"].get("annotations", {})
        tell("namespace demo, with its connectors")
        kube.kubectl("delete", "namespace", "demo", "--ignore-not-found", "--timeout=120s", limit=130)
        tell("release penstock")
        kube.helm("uninstall", "penstock", "--namespace", "penstock-system", "--ignore-not-found", "--wait")
        if made:
            if kube.list("connectors.penstock.dev", "--all-namespaces"):
                tell("definitions are kept: other namespaces have Connectors")
            else:
                tell("definitions")
                kube.kubectl("delete", "crd", *CRDS, "--ignore-not-found")
        tell("namespaces kafka and penstock-system")
        kube.kubectl(
            "delete", "namespace", "kafka", "penstock-system", "--ignore-not-found", "--timeout=120s", limit=130
        )
