"""Chart with the images of the release, and its equivalents for kubectl."""

import gzip
import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts.release.commands import ReleaseError, run

__all__ = ["KAFKA", "NAMESPACE", "REGISTRY", "definitions", "manifest", "pack", "pinned"]

NAMESPACE: Final = "penstock-system"
REGISTRY: Final = "registry.example/penstock"
"""Placeholder for the user's registry in install.yaml. The domain `example` never exists."""
KAFKA: Final = "kafka.example:9092"
_OLDEST: Final = "1.30.0"
_HEAD: Final = """\
# Penstock {version}: everything that the chart installs with its defaults, for kubectl. Replace both placeholders first:
#   sed -e 's#{registry}#REGISTRY#' -e 's#{kafka}#BOOTSTRAP_SERVERS#' install.yaml \\
#     | kubectl apply --server-side --filename -
# All other settings are values of the chart, penstock-{version}.tgz.
apiVersion: v1
kind: Namespace
metadata:
  name: {namespace}
"""


def pinned(values: str, digests: Mapping[str, str]) -> str:
    """Return the text of values.yaml with the digests of images by their names, `operator` and `runtime`.

    Raises:
        ReleaseError: values.yaml has no line for a digest.
    """
    for image, digest in digests.items():
        values, changed = re.subn(
            rf'^(  {image}: {{repository: [^,]+, tag: "", digest: ")(")',
            rf"\g<1>{digest}\2",
            values,
            flags=re.MULTILINE,
        )
        if changed != 1:
            raise ReleaseError(
                f"cannot pin image {image}: values.yaml of the chart has no line"
                f' `{image}: {{repository: ..., tag: "", digest: ""}}` below `images`'
            )
    return values


def pack(chart: Path, target: Path, time: int) -> None:
    """Write a chart as an archive. Unlike that of `helm package`, it does not contain the current time."""
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, 0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for file in sorted(path for path in chart.rglob("*") if path.is_file()):
            member = tarfile.TarInfo(f"{chart.name}/{file.relative_to(chart).as_posix()}")
            content = file.read_bytes()
            member.size, member.mode, member.mtime = len(content), 0o644, time
            archive.addfile(member, io.BytesIO(content))


def manifest(helm: Path, chart: Path, version: str) -> str:
    """Return the manifests that the chart installs with its defaults, and the namespace."""
    rendered = run(
        *(helm, "template", "penstock", chart, "--namespace", NAMESPACE, "--kube-version", _OLDEST, "--skip-tests"),
        *("--set", f"images.registry={REGISTRY}", "--set", f"worker.bootstrap\\.servers={KAFKA}"),
    )
    return _HEAD.format(version=version, registry=REGISTRY, kafka=KAFKA, namespace=NAMESPACE) + rendered


def definitions(folder: Path) -> str:
    """Return the custom resource definitions in a folder as one text."""
    return "".join(f"---\n{file.read_text()}" for file in sorted(folder.glob("*.yaml")))
