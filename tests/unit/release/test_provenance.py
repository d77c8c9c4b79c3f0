"""Checksums and provenance name every file with its digest."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from scripts.release.provenance import checksums, statement

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name in ("b.whl", "a.tgz"):
        (tmp_path / name).write_text(name)
    return [tmp_path / "b.whl", tmp_path / "a.tgz"]


def test_sha256sum_finds_whether_a_file_has_changed(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text(checksums(files))
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    files[0].write_text("changed")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "a.tgz: OK\nb.whl: FAILED\n")


def test_the_statement_has_all_files_the_images_and_the_commit(files: list[Path]) -> None:
    images = {"penstock-operator": f"sha256:{'1' * 64}"}
    made = statement(files, images, version="0.1.0", commit=COMMIT, tools={"helm": "v4"})
    assert {subject["name"]: subject["digest"]["sha256"] for subject in made["subject"]} == {
        "a.tgz": hashlib.sha256(b"a.tgz").hexdigest(),
        "b.whl": hashlib.sha256(b"b.whl").hexdigest(),
        "penstock-operator": "1" * 64,
    }
    assert (made["_type"], made["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://slsa.dev/provenance/v1",
    )
    assert made["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"] == {"gitCommit": COMMIT}
