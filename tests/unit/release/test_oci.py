"""The archive of an image depends only on the content of the image."""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scripts.release import compare
from scripts.release.oci import rewrite

ROOT = Path(__file__).parents[3]
COMMIT_TIME = 1_700_000_000
CAPABILITY = {"SCHILY.xattr.security.capability": "cap"}


def layer(files: Mapping[str, bytes], time: float, headers: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname = len(content), time, f"user-{int(time)}"
            member.pax_headers = dict(headers)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("usr/bin/link")
        link.type, link.linkname, link.mtime = tarfile.SYMTYPE, "program", time
        archive.addfile(link)
    return stream.getvalue()


def docker_archive(file: Path, *, time: float, builder: str, content: bytes = b"program") -> Path:
    """What `docker save` would write, built at a time by a builder."""
    layers = [
        layer({"usr/bin/program": content, "etc/empty": b""}, time, CAPABILITY),
        layer({"opt/.wh.gone": b""}, time, {}),
    ]
    history = [
        {"created": f"{time}", "created_by": f"COPY dir:{hashlib.sha256(builder.encode()).hexdigest()} in /opt"},
        {"created": f"{time}", "created_by": "ENV A=b", "empty_layer": True, "comment": f"FROM {builder}"},
        {"created": f"{time}", "created_by": "RUN rm /opt/gone"},
    ]
    config = {
        "created": f"{time}",
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["A=b"], "Labels": {"org.opencontainers.image.title": "it", "io.buildah.version": builder}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(x).hexdigest()}" for x in layers]},
        "history": history,
    }
    manifest = [{"Config": "config.json", "RepoTags": ["it:1"], "Layers": ["0.tar", "1.tar"]}]
    files = {
        "0.tar": layers[0],
        "1.tar": layers[1],
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps(manifest).encode(),
    }
    with tarfile.open(file, "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file


def rewritten(archive: Path, target: Path) -> bytes:
    made = rewrite(archive, target, name="example/it:1", time=COMMIT_TIME, labels={"revision": "abc"})
    assert made.file == target
    return target.read_bytes()


def blob(archive: Path, digest: str) -> bytes:
    with tarfile.open(archive) as whole:
        content = whole.extractfile(f"blobs/{digest.replace(':', '/')}")
        assert content is not None
        data = content.read()
    assert f"sha256:{hashlib.sha256(data).hexdigest()}" == digest
    return data


def described(archive: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The entry of the index, the manifest and the configuration."""
    with tarfile.open(archive) as whole:
        content = whole.extractfile("index.json")
        assert content is not None
        (entry,) = json.load(content)["manifests"]
    manifest = json.loads(blob(archive, entry["digest"]))
    return entry, manifest, json.loads(blob(archive, manifest["config"]["digest"]))


def test_builds_at_other_times_by_other_builders_have_equal_archives(tmp_path: Path) -> None:
    one = docker_archive(tmp_path / "1.tar", time=1_600_000_000.25, builder="1.28")
    two = docker_archive(tmp_path / "2.tar", time=1_800_000_000.75, builder="1.41")
    assert one.read_bytes() != two.read_bytes()
    assert rewritten(one, tmp_path / "1.oci.tar") == rewritten(two, tmp_path / "2.oci.tar")


def test_another_content_has_another_digest(tmp_path: Path) -> None:
    digests = set()
    for content in (b"one", b"two"):
        archive = docker_archive(tmp_path / "it.tar", time=1, builder="1", content=content)
        digests.add(rewrite(archive, tmp_path / "it.oci.tar", name="it:1", time=COMMIT_TIME, labels={}).digest)
    assert len(digests) == 2


def test_the_comparison_names_the_files_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archives = []
    for name, content in (("1", b"one"), ("2", b"two")):
        built = docker_archive(tmp_path / f"{name}.tar", time=1, builder="1", content=content)
        rewritten(built, tmp_path / f"{name}.oci.tar")
        archives.append(str(tmp_path / f"{name}.oci.tar"))
    assert compare.main(archives) == 1
    assert capsys.readouterr().out == "/usr/bin/program\n"
    assert compare.main([archives[0], archives[0]]) == 0


def test_an_archive_that_was_rewritten_stays_as_it_is(tmp_path: Path) -> None:
    once = rewritten(docker_archive(tmp_path / "it.tar", time=1, builder="1"), tmp_path / "once.tar")
    assert rewritten(tmp_path / "once.tar", tmp_path / "twice.tar") == once


def test_the_image_says_what_it_was_built_from(tmp_path: Path) -> None:
    rewritten(docker_archive(tmp_path / "it.tar", time=1, builder="1"), tmp_path / "it.oci.tar")
    entry, manifest, config = described(tmp_path / "it.oci.tar")
    assert entry["annotations"]["io.containerd.image.name"] == "example/it:1"
    assert entry["platform"] == {"architecture": "amd64", "os": "linux"}
    assert config["created"] == "2023-11-14T22:13:20Z"
    assert config["config"] == {
        "Env": ["A=b"],
        "Labels": {
            "org.opencontainers.image.created": "2023-11-14T22:13:20Z",
            "org.opencontainers.image.title": "it",
            "revision": "abc",
        },
    }
    digests = [
        f"sha256:{hashlib.sha256(gzip.decompress(blob(tmp_path / 'it.oci.tar', x['digest']))).hexdigest()}"
        for x in manifest["layers"]
    ]
    assert config["rootfs"]["diff_ids"] == digests


def test_files_keep_content_and_capabilities(tmp_path: Path) -> None:
    rewritten(docker_archive(tmp_path / "it.tar", time=1, builder="1"), tmp_path / "it.oci.tar")
    manifest = described(tmp_path / "it.oci.tar")[1]
    stream = io.BytesIO(blob(tmp_path / "it.oci.tar", manifest["layers"][0]["digest"]))
    with tarfile.open(fileobj=stream) as archive:
        assert archive.getnames() == ["usr/bin/program", "etc/empty", "usr/bin/link"]
        program = archive.getmember("usr/bin/program")
        assert program.pax_headers == CAPABILITY
        content = archive.extractfile(program)
        assert content is not None
        assert content.read() == b"program"
        assert archive.getmember("usr/bin/link").linkname == "program"


@pytest.fixture
def image(tmp_path: Path) -> Path:
    archive = docker_archive(tmp_path / "it.tar", time=1, builder="1")
    labels = {"org.opencontainers.image.version": "0.1.0"}
    return rewrite(archive, tmp_path / "it.oci.tar", name="it:1", time=COMMIT_TIME, labels=labels).file


def test_the_bill_of_materials_of_an_image_is_always_the_same(image: Path, tmp_path: Path) -> None:
    for name in ("1.json", "2.json"):
        subprocess.run([sys.executable, ROOT / "scripts" / "sbom", "it", image, tmp_path / name], check=True)
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert json.loads((tmp_path / "1.json").read_text())["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")
