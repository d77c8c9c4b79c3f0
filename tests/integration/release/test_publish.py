"""`scripts/publish` on a real registry: images and charts pulled by digest are equal to the released ones."""

import base64
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from scripts.release import chart, oci, provenance

from ..ports import free_port
from .registry import PASSWORD, USER, Registry, registry

ROOT = Path(__file__).parents[3]
VERSION = "0.1.0"
TIME = 1_700_000_000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def helm() -> str:
    if given := os.environ.get("PENSTOCK_HELM"):
        return given
    command = [str(ROOT / "tests" / "cluster" / "cluster"), "path", "helm"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", autouse=True)
def skopeo() -> None:
    if shutil.which("skopeo") is None:
        assert os.geteuid() == 0, "skopeo is missing: install it"
        install = ["apt-get", "install", "--yes", "--no-install-recommends", "skopeo"]
        if subprocess.run(install, stdout=subprocess.DEVNULL, check=False).returncode:
            subprocess.run(["apt-get", "update"], stdout=subprocess.DEVNULL, check=True)
            subprocess.run(install, stdout=subprocess.DEVNULL, check=True)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with the real chart and with small images."""
    folder = tmp_path_factory.mktemp("dist")
    digests = {}
    for image in ("operator", "runtime"):
        built = small_image(folder.parent / f"{image}.tar", image)
        target = folder / f"penstock-{image}-{VERSION}-linux-amd64.oci.tar"
        digests[image] = oci.rewrite(built, target, name=f"penstock-{image}:{VERSION}", time=TIME, labels={}).digest
    copy = tmp_path_factory.mktemp("chart") / "penstock"
    shutil.copytree(ROOT / "helm" / "penstock", copy)
    values = copy / "values.yaml"
    values.write_text(chart.pinned(values.read_text(), digests))
    chart.pack(copy, folder / f"penstock-{VERSION}.tgz", TIME)
    (folder / "SHA256SUMS").write_text(provenance.checksums(folder.iterdir()))
    return folder


def small_image(file: Path, content: str) -> Path:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as layer:
        add(layer, "etc/content", content.encode())
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": {}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(stream.getvalue()).hexdigest()}"]},
    }
    with tarfile.open(file, "w") as archive:
        add(archive, "0.tar", stream.getvalue())
        add(archive, "config.json", json.dumps(config).encode())
        add(archive, "manifest.json", json.dumps([{"Config": "config.json", "Layers": ["0.tar"]}]).encode())
    return file


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry(tmp_path_factory.mktemp("registry") / "data") as found:
        yield found


class Publisher:
    """A user with a password, right or wrong."""

    def __init__(self, helm: str, folder: Path, address: str, password: str) -> None:
        self.address = address
        self.login = folder / "auth.json"
        token = base64.b64encode(f"{USER}:{password}".encode()).decode()
        self.login.write_text(json.dumps({"auths": {address: {"auth": token}}}))
        own = {f"HELM_{kind}_HOME": str(folder / "helm") for kind in ("CACHE", "CONFIG", "DATA")}
        home = {"HOME": str(folder), "PATH": os.environ["PATH"]}
        self.environment = {**home, **own, "PENSTOCK_HELM": helm, "REGISTRY_AUTH_FILE": str(self.login)}

    def run(self, *command: str | Path, code: int = 0) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    def publish(self, dist: Path, code: int = 0) -> str:
        script = ROOT / "scripts" / "publish"
        return self.run(script, f"{self.address}/data", "--dist", dist, "--plain-http", code=code)


@pytest.fixture
def publisher(helm: str, tmp_path: Path, running: Registry) -> Publisher:
    return Publisher(helm, tmp_path, running.address, PASSWORD)


def test_what_is_pulled_by_digest_is_what_was_released(publisher: Publisher, dist: Path, tmp_path: Path) -> None:
    said = publisher.publish(dist)
    references = re.findall(r"^  (\S+)@(sha256:[0-9a-f]{64})$", said, re.MULTILINE)
    assert [name for name, _ in references] == [
        f"{publisher.address}/data/{name}" for name in ("penstock-operator", "penstock-runtime", "penstock")
    ]
    for name, digest in references[:2]:
        image = name.rpartition("/")[2]
        released, pulled = tmp_path / f"{image}-released", tmp_path / f"{image}-pulled"
        publisher.run(
            "skopeo", "copy", f"oci-archive:{dist / f'{image}-{VERSION}-linux-amd64.oci.tar'}", f"dir:{released}"
        )
        publisher.run("skopeo", "copy", "--src-tls-verify=false", f"docker://{name}@{digest}", f"dir:{pulled}")
        assert contents(pulled) == contents(released)
        assert hashlib.sha256((pulled / "manifest.json").read_bytes()).hexdigest() == digest.removeprefix("sha256:")
    name, digest = references[2]
    pull = [publisher.environment["PENSTOCK_HELM"], "pull", f"oci://{name}@{digest}", "--plain-http"]
    publisher.run(*pull, "--registry-config", publisher.login, "--destination", tmp_path)
    (pulled_chart,) = tmp_path.glob("penstock*.tgz")
    assert pulled_chart.read_bytes() == (dist / f"penstock-{VERSION}.tgz").read_bytes()


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_printed_command_installs_the_released_images_from_the_registry(
    publisher: Publisher, dist: Path, tmp_path: Path
) -> None:
    said = publisher.publish(dist)
    printed = re.search(r"^  (helm install .*?)\nor", said, re.MULTILINE | re.DOTALL)
    assert printed
    words = shlex.split(printed[1].replace("\\\n", " "))
    assert words[:2] == ["helm", "install"]
    command = [
        publisher.environment["PENSTOCK_HELM"],
        "template",
        *words[2:],
        "--registry-config",
        str(publisher.login),
    ]
    documents = [d for d in yaml.safe_load_all(publisher.run(*command)) if d]
    (deployment,) = [d for d in documents if d.get("kind") == "Deployment"]  # Helm also prints what it pulled
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert re.fullmatch(rf"{publisher.address}/data/penstock-operator@sha256:[0-9a-f]{{64}}", image)
    publisher.run("skopeo", "inspect", "--tls-verify=false", f"docker://{image}")


def test_publishing_twice_changes_nothing(publisher: Publisher, dist: Path) -> None:
    assert re.findall(r"operator@\S+|runtime@\S+", publisher.publish(dist)) == re.findall(
        r"operator@\S+|runtime@\S+", publisher.publish(dist)
    )


def test_wrong_credentials_are_reported_with_what_to_do(
    helm: str, running: Registry, dist: Path, tmp_path: Path
) -> None:
    said = Publisher(helm, tmp_path, running.address, "wrong").publish(dist, code=1)
    assert f"cannot push penstock-operator to {running.address}/data: access is denied" in said
    assert f"`docker login {running.address}`" in said
    assert "wrong" not in said


def test_a_registry_that_does_not_answer_is_reported(helm: str, dist: Path, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    said = Publisher(helm, tmp_path, address, PASSWORD).publish(dist, code=1)
    assert f"cannot push penstock-operator to {address}/data: {address} does not answer" in said


def test_a_file_that_changed_after_the_release_is_not_published(
    publisher: Publisher, dist: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "dist"
    shutil.copytree(dist, copy)
    (copy / f"penstock-{VERSION}.tgz").write_bytes(b"another chart")
    said = publisher.publish(copy, code=1)
    assert f"penstock-{VERSION}.tgz is missing or has another digest than in SHA256SUMS" in said
