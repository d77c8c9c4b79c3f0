"""A release on an empty cluster: installed from its files, first record within a minute, upgraded to the next build.

The release is what `make release` writes. PENSTOCK_DIST names a folder that has it already.
"""

import json
import os
import re
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from scripts.release import chart

from ..integration.machine_time import MachineTime
from ..making_release import described, forget_images, git, release
from .api import Object, ready
from .choosing import own_cluster
from .cluster import Cluster
from .kafka import Kafka
from .place import Connector
from .release import CHART, namespace_of

pytestmark = [pytest.mark.own_cluster, pytest.mark.slow, pytest.mark.timeout(3_000)]

SHOP: Final = "shop"
"""The namespace of Kafka and of the Connector."""
TOPIC: Final = "orders"
RATE: Final = 50
MINUTE: Final = 60.0
"""Of a machine that has nothing else to do: of a busy one, seconds count by what it gives (`machine_time`)."""
NEXT: Final = "99.0.0"
"""The version of the next build."""
ORDERS: Final = f"""
---
apiVersion: penstock.dev/v1alpha1
kind: Connector
metadata: {{name: orders}}
spec:
  class: Datagen
  config: {{topic: {TOPIC}, rate: {RATE}, value.converter: JsonConverter, value.converter.schemas.enable: false}}
"""


@dataclass(frozen=True)
class Dist:
    """The files of a release."""

    folder: Path

    @property
    def chart(self) -> Path:
        (found,) = (f for f in self.folder.glob("penstock-*.tgz") if re.fullmatch(r"penstock-\d[^-]*\.tgz", f.name))
        return found

    @property
    def version(self) -> str:
        return self.chart.name.removeprefix("penstock-").removesuffix(".tgz")

    @property
    def manifest(self) -> str:
        return (self.folder / "install.yaml").read_text()

    @property
    def images(self) -> list[Path]:
        return sorted(self.folder.glob("*.oci.tar"))

    @property
    def digests(self) -> dict[str, str]:
        """Of the images, as the chart has them."""
        with tarfile.open(self.chart) as archive:
            values = archive.extractfile("penstock/values.yaml")
            assert values is not None
            found = re.findall(r'(operator|runtime): {.*digest: "(sha256:[0-9a-f]{64})"}', values.read().decode())
        assert len(found) == 2
        return dict(found)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dist]:
    if given := os.environ.get("PENSTOCK_DIST"):
        yield Dist(Path(given))
        return
    with described(tmp_path_factory.mktemp("release") / "checkout") as checkout:
        yield Dist(release(checkout))
        forget_images(git(checkout, "rev-parse", "HEAD"))  # they are of no use to others, and take 1 GB


@pytest.fixture(scope="module")
def released(dist: Dist, measured: Callable[[str, float], None]) -> Iterator[Cluster]:
    """A cluster with the images of the release, by digest, and those of the next build, and nothing else."""
    with own_cluster(word="release") as made:
        for image in ("operator", "runtime"):  # of this checkout; the release has the same names
            tag(made, made.images[image], f"penstock-{image}:{NEXT}")
        begun = time.monotonic()
        made.component("load", *map(str, dist.images))
        measured("load the images of the release", time.monotonic() - begun)
        for image, digest in dist.digests.items():  # a registry would do it
            tag(made, f"penstock-{image}:{dist.version}", f"penstock-{image}@{digest}")
        yield made


def tag(cluster: Cluster, old: str, new: str) -> None:
    names = [f"docker.io/library/{name}" for name in (old, new)]
    cluster.on_node("ctr", "--namespace", "k8s.io", "images", "tag", "--force", *names)


@pytest.fixture
def shop(released: Cluster) -> Iterator[Kafka]:
    """A namespace for Kafka and Connectors, in which there is only the pod that reads topics."""
    released.apply(namespace_of(SHOP))
    made = Kafka(released, SHOP)
    made.start_toolbox()
    yield made
    connectors = "connectors.penstock.dev"
    if released.api.get("customresourcedefinitions", None, connectors) is not None:
        released.kubectl("delete", "connectors", "--all", "--namespace", SHOP)
        released.helm("uninstall", "penstock", "--namespace", chart.NAMESPACE, "--ignore-not-found", "--wait")
        kinds = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,validatingadmissionpolicies"
        kinds += ",validatingadmissionpolicybindings,customresourcedefinitions"
        released.kubectl("delete", kinds, "--selector", "app.kubernetes.io/name=penstock")
    released.delete_namespaces(SHOP, chart.NAMESPACE, wait=True)


def test_release_delivers_its_first_record_a_minute_after_helm_install_and_an_upgrade_loses_and_repeats_none(
    released: Cluster, shop: Kafka, dist: Dist, tmp_path: Path, measured: Callable[[str, float], None]
) -> None:
    namespace = ("--namespace", chart.NAMESPACE)
    one_broker = {f"{topic}.storage.replication.factor": -1 for topic in ("offset", "status")}
    values = tmp_path / "values.json"
    values.write_text(json.dumps({"worker": {"bootstrap.servers": shop.servers, **one_broker}}))
    with a_minute(measured, "helm install of the release to the first record"):
        released.helm("install", "penstock", str(dist.chart), *namespace, "--create-namespace", "--values", str(values))
        await_first_record(released, shop, tmp_path)
    has_image(released, f"penstock-runtime@{dist.digests['runtime']}")

    packed = next_chart(tmp_path)
    released.helm("upgrade", "penstock", str(packed), *namespace, "--reset-then-reuse-values", "--wait")
    continues(released, shop)


def test_release_delivers_its_first_record_a_minute_after_kubectl_apply_and_an_upgrade_loses_and_repeats_none(
    released: Cluster, shop: Kafka, dist: Dist, tmp_path: Path, measured: Callable[[str, float], None]
) -> None:
    with a_minute(measured, "kubectl apply of the release to the first record"):
        apply_manifest(released, dist.manifest, shop)
        await_first_record(released, shop, tmp_path)
    has_image(released, f"penstock-runtime@{dist.digests['runtime']}")

    apply_manifest(released, chart.manifest(Path(released.programs["helm"]), next_chart(tmp_path), NEXT), shop)
    continues(released, shop)


def apply_manifest(cluster: Cluster, text: str, kafka: Kafka) -> None:
    """Apply an install.yaml as it says itself, for a Kafka of one broker."""
    text = text.replace(chart.REGISTRY, "docker.io/library").replace(chart.KAFKA, kafka.servers)
    text, changed = re.subn(r'(storage\.replication\.factor: )"3"', r'\1"-1"', text)
    assert changed == 2
    cluster.kubectl("apply", "--server-side", "--filename=-", stdin=text)


@contextmanager
def a_minute(measured: Callable[[str, float], None], what: str) -> Iterator[None]:
    """Something that takes no longer."""
    begun, clock, over = time.monotonic(), MachineTime(), threading.Event()

    def tick() -> None:
        while not over.wait(0.1):
            clock()

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        yield
    finally:
        over.set()
        ticking.join()
    measured(what, time.monotonic() - begun)
    assert clock() < MINUTE


def await_first_record(cluster: Cluster, kafka: Kafka, folder: Path) -> None:
    """Apply Kafka and a Connector, one file, and wait for its first record."""
    file = folder / "shop.yaml"
    file.write_text(kafka.example("kafka.yaml") + ORDERS)
    cluster.kubectl("wait", "--for=condition=established", "crd/connectors.penstock.dev", "--timeout=60s")
    cluster.kubectl("apply", "--namespace", SHOP, "--filename", str(file))
    cluster.api.until("pods", SHOP, "kafka-0", ready(), "Kafka is ready", limit=120)
    kafka.records(TOPIC, seconds=120)


def next_chart(folder: Path) -> Path:
    """The chart of this checkout with the version of the next build, packed."""
    copy = folder / "next" / "penstock"
    for file in (f for f in CHART.rglob("*") if f.is_file()):
        target = copy / file.relative_to(CHART)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    about = copy / "Chart.yaml"
    about.write_text(re.sub(r"(?m)^((?:version|appVersion): ).*$", rf"\g<1>{NEXT}", about.read_text()))
    packed = folder / f"penstock-{NEXT}.tgz"
    chart.pack(copy, packed, int(time.time()))
    return packed


def has_image(cluster: Cluster, image: str) -> None:
    """Wait until one pod of a task runs, and it has this image of any registry."""

    def only(pods: Mapping[str, Object]) -> bool:
        found = [p for p in pods.values() if p["status"].get("phase") == "Running"]
        return [p["spec"]["containers"][0]["image"].rpartition("/")[2] for p in found] == [image]

    cluster.api.until_all("pods", SHOP, only, f"a task of {image}", 240, labels="penstock.dev/role=task")


def continues(cluster: Cluster, kafka: Kafka) -> None:
    """Wait until the task has the image of the next build and delivers; each record is there once."""
    has_image(cluster, f"penstock-runtime:{NEXT}")
    before = len(kafka.values(TOPIC))
    Connector(cluster, SHOP, "orders", {}).reaches("Running", limit=120)
    found = kafka.values(TOPIC, least=before + 5 * RATE)
    assert sorted(found) == list(range(len(found)))
