"""Push the images and the chart of a release to a registry, unchanged, and print how to install from there.

This needs skopeo, Helm and Python's standard library. Images come first, so that a chart in the registry has its images.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.release.chart import KAFKA, NAMESPACE, REGISTRY
from scripts.release.commands import ReleaseError
from scripts.release.provenance import digest

__all__ = ["Release", "credentials", "explained", "instructions", "main"]

_PROJECT: Final = Path(__file__).resolve().parents[2]
_ARCHIVE: Final = re.compile(r"(penstock-[a-z]+)-(.+)-linux-[a-z0-9]+\.oci\.tar")
_DENIED: Final = re.compile(r"unauthorized|authentication required|denied|forbidden|\b40[13]\b", re.IGNORECASE)
_UNREACHABLE: Final = re.compile(r"connection refused|no such host|i/o timeout|no route to host|server misbehaving|EOF")


@dataclass(frozen=True, slots=True)
class Release:
    """Files of a release that a registry can have.

    Attributes:
        version: its version.
        images: archives by the names of images.
        chart: the packed chart.
    """

    version: str
    images: Mapping[str, Path]
    chart: Path

    @classmethod
    def read(cls, folder: Path) -> "Release":
        """Return the release in a folder.

        Raises:
            ReleaseError: the folder has no release, or a file has changed since.
        """
        sums = folder / "SHA256SUMS"
        if not sums.exists():
            raise ReleaseError(f"cannot publish {folder}: it has no SHA256SUMS; run `make release`, or name its folder")
        expected = [line.split("  ", 1) for line in sums.read_text().splitlines()]
        wrong = [name for wanted, name in expected if not (folder / name).exists() or digest(folder / name) != wanted]
        if wrong:
            raise ReleaseError(
                f"cannot publish {folder}: {', '.join(wrong)} is missing or has another digest than in SHA256SUMS;"
                " run `make release` again, or download the files again"
            )
        found = [match for _, name in expected if (match := _ARCHIVE.fullmatch(name))]
        versions = {match[2] for match in found}
        if len(versions) != 1:
            raise ReleaseError(f"cannot publish {folder}: it has no images of one version; run `make release`")
        (version,) = versions
        return cls(version, {match[1]: folder / match[0] for match in found}, folder / f"penstock-{version}.tgz")


def main(arguments: Sequence[str] | None = None) -> int:
    """Push a release, or report why it is not pushed."""
    parser = argparse.ArgumentParser(
        prog="scripts/publish",
        description="Pushes the images and the chart of a release to a registry.",
        epilog="Credentials are those of `docker login`, or of the file that REGISTRY_AUTH_FILE names.",
    )
    parser.add_argument("registry", metavar="REGISTRY", help="host and path, as in registry.example/team")
    parser.add_argument("--dist", type=Path, default=_PROJECT / "dist", help="folder of the release (%(default)s)")
    parser.add_argument("--plain-http", action="store_true", help="for a registry without TLS")
    options = parser.parse_args(arguments)
    try:
        publish(options.registry.removeprefix("oci://").rstrip("/"), options.dist, plain=options.plain_http)
    except ReleaseError as e:
        print(f"scripts/publish: {e}", file=sys.stderr)
        return 1
    return 0


def publish(registry: str, folder: Path, *, plain: bool) -> None:
    """Push a release to a registry.

    Raises:
        ReleaseError: a file or a program is missing, or the registry refuses it or is unavailable.
    """
    release = Release.read(folder)
    skopeo = _program("skopeo", "install it (Debian, Ubuntu: apt-get install skopeo)")
    helm = os.environ.get("PENSTOCK_HELM") or _program(
        "helm", "install Helm 3.17 or newer, or name it in PENSTOCK_HELM"
    )
    login = credentials(os.environ, Path.home())
    pushed = []
    for name, archive in sorted(release.images.items()):
        reference = f"{registry}/{name}"
        command = [
            skopeo,
            "copy",
            "--preserve-digests",
            "--retry-times=2",
            *(["--dest-tls-verify=false"] if plain else []),
        ]
        command += [f"--dest-authfile={login}"] if login else []
        _push(name, registry, [*command, f"oci-archive:{archive}", f"docker://{reference}:{release.version}"])
        pushed.append(f"{reference}@{image_digest(archive)}")
    command = [helm, "push", str(release.chart), f"oci://{registry}", *(["--plain-http"] if plain else [])]
    said = _push("the chart", registry, [*command, *([f"--registry-config={login}"] if login else [])])
    found = re.search(r"sha256:[0-9a-f]{64}", said)
    pushed.append(f"{registry}/penstock" + (f"@{found[0]}" if found else f":{release.version}"))
    print(instructions(registry, release.version, pushed, plain=plain))


def credentials(environment: Mapping[str, str], home: Path) -> Path | None:
    """Return the file with the user's credentials for registries, the same for images and chart; None: there is none."""
    if given := environment.get("REGISTRY_AUTH_FILE"):
        return Path(given)
    folder = environment.get("DOCKER_CONFIG")
    file = Path(folder) / "config.json" if folder else home / ".docker" / "config.json"
    return file if file.exists() else None


def image_digest(archive: Path) -> str:
    """Return the digest of the image in an OCI archive."""
    with tarfile.open(archive) as whole:
        index = whole.extractfile("index.json")
        assert index is not None
        return str(json.load(index)["manifests"][0]["digest"])


def explained(what: str, registry: str, output: str) -> str:
    """Return the message for a failed push, from the output of the program that pushed."""
    cause = (output.strip().splitlines() or ["no output"])[-1].strip()
    host = registry.partition("/")[0]
    if _UNREACHABLE.search(output):
        remedy = f"{host} does not answer; check its name and the network"
    elif _DENIED.search(output):
        remedy = f"access is denied; run `docker login {host}` with an account that may push, or set REGISTRY_AUTH_FILE"
    elif "HTTP response to HTTPS client" in output:
        remedy = f"{host} has no TLS; add --plain-http if that is intended"
    else:
        remedy = "remove the cause and run it again; images that are already in the registry are not pushed twice"
    return f"cannot push {what} to {registry}: {remedy} ({cause})"


def instructions(registry: str, version: str, pushed: Sequence[str], *, plain: bool) -> str:
    """Return what was pushed, and the commands that install it."""
    listed = "\n".join(f"  {reference}" for reference in pushed)
    return f"""\
Penstock {version} is in the registry:
{listed}

Install it with Helm:
  helm install penstock oci://{registry}/penstock --version {version}{" --plain-http" if plain else ""} \\
    --namespace {NAMESPACE} --create-namespace \\
    --set images.registry={registry} --set 'worker.bootstrap\\.servers=BOOTSTRAP_SERVERS'
or without it:
  sed -e 's#{REGISTRY}#{registry}#' -e 's#{KAFKA}#BOOTSTRAP_SERVERS#' install.yaml \\
    | kubectl apply --server-side --filename -"""


def _program(name: str, remedy: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ReleaseError(f"cannot publish: {name} is missing; {remedy}")
    return found


def _push(what: str, registry: str, command: Sequence[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ReleaseError(explained(what, registry, done.stdout))
    return done.stdout
