"""Steps to move the imported connectors, in order: what to build, apply and stop. Pure."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from penstock_cli.migration.connect_cluster import ConnectCluster, PluginImage
from penstock_cli.migration.foreign_plugins import PART_OF, Archive, archives, built_archives, plugin_version
from penstock_cli.migration.found import Found
from penstock_cli.migration.inventory import Inventory
from penstock_cli.migration.manifest import Imported

__all__ = ["Brought", "Moved", "Step", "bring", "steps"]

_SHARED: Final = ("producer.", "consumer.", "admin.", "topic.creation.", "errors.")
_IN_KAFKA: Final = "org.apache.kafka.connect.mirror."
"""Prefix of classes that a Strimzi image has outside of its plugin folder."""


@dataclass(frozen=True)
class Moved:
    """Connector, with its origin."""

    found: Found
    made: Imported
    cluster: ConnectCluster | None
    worker: Mapping[str, str]


@dataclass(frozen=True)
class Brought:
    """Sources of the plugins that Penstock does not have.

    Attributes:
        versions: manifests of PluginVersions.
        by_tag: images whose digest is unknown.
        archives: plugin images to build.
        rolled: images by digest, if the pods of a KafkaConnect run several.
        covered: KafkaConnects whose plugins these PluginVersions provide.
    """

    versions: tuple[Mapping[str, Any], ...] = ()
    by_tag: tuple[PluginImage, ...] = ()
    archives: tuple[Archive, ...] = ()
    rolled: tuple[str, ...] = ()
    covered: tuple[ConnectCluster, ...] = ()

    def has(self, m: Moved) -> bool:
        """Return whether PluginVersions provide the plugins that a connector needs."""
        of_kafka = any(n.class_name.startswith(_IN_KAFKA) for n in m.made.needs)
        return m.cluster in self.covered and not of_kafka


@dataclass(frozen=True)
class Step:
    """Step with its commands and details."""

    what: str
    lines: tuple[str, ...] = ()


def bring(moved: Sequence[Moved], inventory: Inventory, digests: Mapping[str, str]) -> Brought:
    """Return the plugin sources that are needed, each once.

    Args:
        moved: the connectors.
        inventory: all findings of the import.
        digests: the given references by digest; the keys are the references in the KafkaConnect.
    """
    versions: list[Mapping[str, Any]] = []
    by_tag: list[PluginImage] = []
    built: list[Archive] = []
    rolled: list[str] = []
    covered: list[ConnectCluster] = []
    needed = [n for m in moved if m.cluster is None for n in m.made.needs]
    for cluster in inventory.clusters:
        of_cluster = [m for m in moved if m.cluster is cluster]
        needs = [n for m in of_cluster for n in m.made.needs if not n.class_name.startswith(_IN_KAFKA)]
        needed += (n for m in of_cluster for n in m.made.needs if n.class_name.startswith(_IN_KAFKA))
        if not needs:
            continue
        known = inventory.digests(cluster, digests)
        made = {image: plugin_version(image, known, of_cluster[0].made.namespace) for image in cluster.images}
        versions += (v for v in made.values() if v is not None)
        by_tag += (image for image, v in made.items() if v is None and image.reference)
        if made and all(v is not None for v in made.values()):
            covered.append(cluster)
        elif len(images := inventory.running(cluster)) > 1:
            rolled += images
        if all(v is None and not image.reference for image, v in made.items()):
            built += built_archives(cluster.artifacts)
            needed += () if cluster.artifacts else needs
    return Brought(tuple(versions), tuple(by_tag), (*built, *archives(needed)), tuple(rolled), tuple(covered))


def steps(
    moved: Sequence[Moved],
    brought: Brought,
    url: str | None,
    secrets_to: Path | None,
    *,
    are_recorded: bool,
    again: Callable[..., str],
) -> list[Step]:
    """Return the steps, in order.

    Args:
        moved: the connectors.
        brought: sources of their plugins.
        url: address of the Kafka Connect that listed them.
        secrets_to: folder with the extracted secrets.
        are_recorded: the transactional ids of sources were recorded.
        again: returns the command that repeats the import with more options.
    """
    if not moved:
        return []
    found = [Step("Set in the release's worker configuration, as in Kafka Connect's:", tuple(_worker(moved)))]
    if brought.by_tag:
        what = (
            "Find the digest of each image, because a tag can be moved to another image, and repeat the import with it:"
        )
        lines = [line for image in brought.by_tag for line in _digest(image, moved, again)]
        if brought.rolled:
            lines.append(f"its pods run {len(brought.rolled)} images, as during a rollout: {', '.join(brought.rolled)}")
        found.append(Step(what, tuple(lines)))
    if brought.archives:
        what = "Build an image of each plugin that Penstock does not have, and push it:"
        found.append(Step(what, tuple(line for a in brought.archives for line in _build(a))))
    if any(m.made.secrets for m in moved):
        found.append(Step("Create the Secrets:", tuple(_secrets(moved, secrets_to, again))))
    if brought.versions or brought.archives:
        what = "Apply the PluginVersions, and wait until they are Ready:"
        found.append(Step(what, tuple(_apply(brought, moved))))
    if live := [m for m in moved if m.found.is_live]:
        what = "Stop the connectors in Kafka Connect, or records are written twice, and wait until they have no tasks:"
        found.append(Step(what, tuple(_stop(m, url) for m in live)))
    if not are_recorded and any(m.made.kind != "sink" for m in moved):
        what = (
            "Repeat the import of sources while they are stopped, with the release's worker configuration as FILE, to fence "
            "tasks that froze in Kafka Connect:"
        )
        found.append(Step(what, (again("--worker FILE"),)))
    found.append(
        Step("Apply the Connectors; those whose spec.state is Running start:", ("kubectl apply -f connectors.yaml",))
    )
    what = "When the connectors run here, delete them in Kafka Connect; their offsets are kept"
    found.append(Step(what))
    return found


def _worker(moved: Sequence[Moved]) -> Iterator[str]:
    clusters = list(dict.fromkeys(m.cluster.name for m in moved if m.cluster is not None))
    for worker, cluster in _workers(moved):
        of = f"KafkaConnect {cluster.name}, " if cluster is not None and len(clusters) > 1 else ""
        if cluster is not None:
            yield from (f"{of}{line}" for line in cluster.clients)
        topic = worker.get("offset.storage.topic")
        yield f"{of}offset.storage.topic: {topic or 'that of its worker'}, which has the positions"
        if names := [n for n in worker if n.startswith(_SHARED)]:
            yield f"{of}{', '.join(names)}: set for all its connectors"
        if cluster is not None and cluster.left_out:
            yield (
                f"{of}{', '.join(cluster.left_out)}: settings of its pods; for the pods of Connectors, see task.* in the "
                "chart's values, and spec.template"
            )


def _workers(moved: Sequence[Moved]) -> Iterator[tuple[Mapping[str, str], ConnectCluster | None]]:
    seen: list[object] = []
    for m in moved:
        key = (m.worker, m.cluster)
        if key not in seen:
            seen.append(key)
            yield key


def _digest(image: PluginImage, moved: Sequence[Moved], again: Callable[..., str]) -> Iterator[str]:
    name = shlex.quote(image.reference)
    yield again(f"--image {name}@$(crane digest {name})")
    yield f"or with --image {name}@$(skopeo inspect --format '{{{{.Digest}}}}' docker://{name})"
    namespace = next((f" --namespace {m.found.namespace}" for m in moved if m.found.namespace), "")
    if image.path != "/":
        yield f"or with its pods: kubectl get kafkaconnects,kafkaconnectors,pods{namespace} -o yaml | penstock import -"


def _build(archive: Archive) -> Iterator[str]:
    name, version = archive.name, f" version {archive.version}" if archive.version else ""
    files = [url.rpartition("/")[2] for url, _ in archive.files]
    if archive.classes:
        yield f"for {', '.join(archive.classes)}{version}"
    for (url, sha512), file in zip(archive.files, files, strict=True):
        yield f"curl -fLO {shlex.quote(url)}"
        if sha512:
            yield f"echo {shlex.quote(f'{sha512}  {file}')} | sha512sum --check"
    if archive.source:
        yield f"get {archive.source}{version}" if not archive.files else f"get {archive.source} too"
    elif not files:
        classes = " and ".join(archive.classes) or name
        yield f"get the archive or image with {classes}{version or ', in the version that Kafka Connect runs'}"
    given = " ".join(map(shlex.quote, files)) or "ARCHIVE"
    yield f"penstock plugin build {given} --image REGISTRY/{name} --out {name}"
    tag = f":{archive.version}" if archive.version else ""
    yield f"skopeo copy --preserve-digests oci-archive:{name}/{name}.tar docker://REGISTRY/{name}{tag}"


def _secrets(moved: Iterable[Moved], folder: Path | None, again: Callable[..., str]) -> Iterator[str]:
    if folder is None:
        folder = Path("secrets")
        yield again(f"--secrets-to {folder}")
    for m in moved:
        for name in m.made.secrets:
            files = shlex.quote(str(folder / name))
            yield f"kubectl create secret generic {name}{_in(m.made.namespace)} --from-file={files}"


def _apply(brought: Brought, moved: Sequence[Moved]) -> Iterator[str]:
    for label in dict.fromkeys(v["metadata"]["labels"][PART_OF] for v in brought.versions):
        yield f"kubectl apply -f connectors.yaml --selector {PART_OF}={label}"
    for archive in brought.archives:
        for namespace in _namespaces(moved, archive):
            yield f"kubectl apply -f {archive.name}/pluginversion.yaml{_in(namespace)}"
    for version in brought.versions:
        metadata = version["metadata"]
        yield (
            f"kubectl wait --for=condition=Ready pluginversion/{metadata['name']}{_in(metadata.get('namespace'))} "
            "--timeout=5m"
        )
    for namespace in dict.fromkeys(n for archive in brought.archives for n in _namespaces(moved, archive)):
        yield f"kubectl wait --for=condition=Ready pluginversions --all{_in(namespace)} --timeout=5m"


def _stop(m: Moved, url: str | None) -> str:
    if m.found.resource:
        patch = """-p '{"spec":{"state":"stopped"}}'"""
        return f"kubectl patch {m.found.resource} {m.made.name}{_in(m.found.namespace)} --type merge {patch}"
    path = f"/connectors/{quote(m.made.name, safe='')}/stop"
    return f"PUT {path}" if url is None else f"curl -X PUT {url}{path}"


def _namespaces(moved: Iterable[Moved], archive: Archive) -> list[str | None]:
    """Return the namespaces of the connectors that need an archive; the classes in the files of a build are unknown."""
    classes = set(archive.classes)
    needing = (m for m in moved if m.made.needs and (not classes or classes & {n.class_name for n in m.made.needs}))
    return list(dict.fromkeys(m.made.namespace for m in needing))


def _in(namespace: str | None) -> str:
    return f" --namespace {namespace}" if namespace is not None else ""
