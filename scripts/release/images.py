"""Images of a release, built by scripts/images and rewritten, with a bill of materials for each."""

import platform
import shutil
import sys
from pathlib import Path
from typing import Final

from scripts.release.checkout import Commit
from scripts.release.commands import run
from scripts.release.oci import rewrite

__all__ = ["IMAGES", "build", "builder"]

IMAGES: Final = ("operator", "runtime")
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def build(project: Path, target: Path, version: str, commit: Commit) -> dict[str, str]:
    """Write the OCI archive and the bill of materials of each image, and return the digests of the images."""
    listed = run(project / "scripts" / "images", *IMAGES, environment={"PENSTOCK_COMMIT": commit.id})
    archives = dict(line.split(" ", 1) for line in listed.splitlines())
    machine = _MACHINES.get(platform.machine(), platform.machine())
    digests = {}
    for image in IMAGES:
        name = f"penstock-{image}"
        file = target / f"{name}-{version}-linux-{machine}.oci.tar"
        labels = {"org.opencontainers.image.revision": commit.id}
        made = rewrite(
            Path(archives[f"{name}:{version}"]),
            file,
            name=f"docker.io/library/{name}:{version}",
            time=commit.time,
            labels=labels,
        )
        digests[image] = made.digest
        bill = file.with_name(file.name.replace(".oci.tar", ".cdx.json"))
        run(sys.executable, project / "scripts" / "sbom", name, file, bill)
    return digests


def builder() -> str:
    """Return the program that builds images on this machine, with its version."""
    return run("buildah", "--version").strip() if shutil.which("buildah") else run("docker", "--version").strip()
