"""`make release` in two folders writes the same bytes, and its images say which commit they are."""

import json
import os
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from ..making_release import clone, described, forget_images, git, release
from .test_images import JAVA, SPARK
from .unpacked import Image, unpack

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The commit of this checkout, or the next one, which adds the section of the changelog that a release needs."""
    if os.geteuid() != 0:
        pytest.skip("unpacking images and entering them needs root")
    with described(tmp_path_factory.mktemp("first") / "checkout") as folder:
        yield folder


@pytest.fixture(scope="module")
def dist(checkout: Path) -> Iterator[Path]:
    yield release(checkout)
    forget_images(git(checkout, "rev-parse", "HEAD"))  # they are of no use to others, and take 1 GB


def test_another_folder_makes_the_same_bytes(checkout: Path, dist: Path, tmp_path: Path) -> None:
    forget_images(git(checkout, "rev-parse", "HEAD"))
    with clone(checkout, tmp_path / "elsewhere") as elsewhere:
        again = release(elsewhere)
        assert (again / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=again, check=True)


@pytest.fixture(scope="module")
def images(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    archives = {name: next(dist.glob(f"penstock-{name}-*.oci.tar")) for name in ("operator", "runtime")}
    return {name: unpack(archive, tmp_path_factory.mktemp(name)) for name, archive in archives.items()}


@pytest.mark.parametrize("name", ["operator", "runtime"])
def test_an_image_says_its_version_and_commit(checkout: Path, images: dict[str, Image], name: str) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    labels = images[name].config["Labels"]
    assert labels["org.opencontainers.image.revision"] == commit
    assert labels["org.opencontainers.image.version"] == "0.1.0"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["org.opencontainers.image.created"].endswith("Z")
    printed = images[name].run(
        "python3", "-c", "from penstock_model.version import version_text; print(version_text())"
    )
    assert printed == f"penstock 0.1.0 (commit {commit[:12]})\n"


@pytest.mark.parametrize("name", ["operator", "runtime"])
def test_no_compiled_module_depends_on_the_times_of_files(images: dict[str, Image], name: str) -> None:
    compiled = [file for file in images[name].root.rglob("*.pyc") if "debpython" not in file.parts]  # dpkg's own tool
    assert compiled
    # PEP 552: the second word is 0 if the module is compared with the time of its source.
    assert not [file for file in compiled if file.read_bytes()[4:8] == bytes(4)]


def test_java_maps_its_archives_of_classes_although_the_release_sets_the_times_of_jars(
    images: dict[str, Image],
) -> None:
    assert images["runtime"].run("python", "-c", JAVA).strip().endswith("mapped")
    assert images["runtime"].run("python", "-c", SPARK).strip().endswith("counted")


def test_java_trusts_the_public_authorities(images: dict[str, Image]) -> None:
    listed = images["runtime"].run("keytool", "-list", "-cacerts", "-storepass", "changeit")
    assert listed.count("Jan 1, 1970, trustedCertEntry") > 100


def test_the_chart_and_the_provenance_name_the_images_by_digest(dist: Path) -> None:
    provenance = json.loads((dist / "provenance.intoto.json").read_text())
    images = {s["name"]: s["digest"]["sha256"] for s in provenance["subject"] if "@" in s["name"]}
    assert sorted(name.partition("@")[0] for name in images) == ["penstock-operator", "penstock-runtime"]
    manifest = (dist / "install.yaml").read_text()
    for name in images:
        assert f"registry.example/penstock/{name}" in manifest
    files = {s["name"]: s["digest"]["sha256"] for s in provenance["subject"] if "@" not in s["name"]}
    there = {f.name: sha256(f.read_bytes()).hexdigest() for f in dist.iterdir()}
    assert files == {n: d for n, d in there.items() if n not in ("SHA256SUMS", "provenance.intoto.json")}
