"""What is installed has the hash of its pin, here and in the images."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILES = [ROOT / image / "Dockerfile" for image in ("operator", "runtime")]


def wheel(folder: Path) -> Path:
    """A package that does nothing."""
    path, info = folder / "nothing-1.0-py3-none-any.whl", "nothing-1.0.dist-info"
    files = {
        "nothing.py": b"",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {n: base64.urlsafe_b64encode(hashlib.sha256(c).digest()).rstrip(b"=").decode() for n, c in files.items()}
    record = "".join(f"{n},sha256={digests[n]},{len(c)}\n" for n, c in files.items()) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    return path


def setup(folder: Path, digest: str) -> tuple[Path, str]:
    """What `scripts/setup` says where that package, with this hash, is all that is to be installed; its cache too."""
    checkout, cache, index = folder / "checkout", folder / "cache", folder / "index"
    (checkout / "scripts").mkdir(parents=True)
    (checkout / "requirements").mkdir()
    shutil.copy(ROOT / "scripts" / "setup", checkout / "scripts")
    shutil.copy(ROOT / "pyproject.toml", checkout)
    (checkout / "requirements" / "build.txt").write_text("")
    (checkout / "requirements" / "all.txt").write_text(f"nothing==1.0 \\\n    --hash=sha256:{digest}\n")
    environment = {
        **os.environ,
        "PENSTOCK_CACHE": str(cache),
        "PYTHON": sys.executable,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "PIP_CONFIG_FILE": os.devnull,
    }
    done = subprocess.run(
        [checkout / "scripts" / "setup", folder / "venv"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return cache, done.stderr


@pytest.mark.slow
def test_setup_installs_what_has_its_hash_and_refuses_what_has_another(tmp_path: Path) -> None:
    for case, complete in (("right", True), ("altered", False)):
        folder = tmp_path / case
        (folder / "index").mkdir(parents=True)
        digest = hashlib.sha256(wheel(folder / "index").read_bytes()).hexdigest()
        if not complete:
            digest = f"{digest[:-1]}{'0' if digest[-1] != '0' else '1'}"
        cache, told = setup(folder, digest)
        assert bool(list(cache.glob("packages-*/complete"))) is complete, told
        assert ("DO NOT MATCH THE HASHES" in told) is not complete


def test_the_files_with_hashes_fit_the_pins() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate-requirements", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_pin_without_hashes_is_noticed(tmp_path: Path) -> None:
    for folder in ("requirements", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    pins = tmp_path / "requirements" / "constraints.txt"
    pins.write_text(re.sub(r"(?m)^kopf==.*$", "kopf==0.0.1", pins.read_text()))
    script = tmp_path / "scripts" / "generate-requirements"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "cannot find hashes of kopf==0.0.1" in done.stderr


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda f: f.parent.name)
def test_an_image_takes_nothing_from_an_index_without_its_hash(file: Path) -> None:
    text = file.read_text().replace("\\\n", "")
    asked = [
        c for c in re.split(r"&&|\n", text) if re.search(r"python3? (install|wheel)\b|\bpip\b.* (install|wheel) ", c)
    ]
    assert asked
    for command in asked:
        assert "--require-hashes" in command or "--no-index" in command, command


def test_every_pin_has_hashes_and_of_no_weaker_kind() -> None:
    for name in ("all", "operator", "runtime", "build", "docs", "playground"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        pins = re.findall(r"^([a-z0-9.-]+==\S+) \\$", text, re.MULTILINE)
        assert pins
        assert len(re.findall(r"==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", text)) == len(pins)
        assert "md5" not in text


def test_the_site_runs_transforms_with_the_versions_of_the_runtime() -> None:
    def pins(name: str) -> set[str]:
        lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
        return {line.removesuffix(" \\").lower().replace("_", "-") for line in lines if "==" in line}

    assert pins("playground") <= pins("runtime")
