"""The archive of an image: its name, its digests, and that there is a whole one or none."""

import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_cli.plugin.archive import write_image

from .images import Image

NAME = "plugins.example/ticker"
KILLED = """
import os, signal, sys
from pathlib import Path
from penstock_cli.plugin import archive
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
archive.write_image(Path(sys.argv[1]), "plugins.example/ticker", Path(sys.argv[2]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "ticker.py").write_text("VERSION = 1\n")
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "image.tar"


def test_its_name_is_that_by_the_digest_of_its_manifest(folder: Path, out: Path) -> None:
    reference = write_image(folder, NAME, out)
    image = Image.read(out)
    assert image.name == reference == f"{NAME}@{image.digest}"


def test_its_configuration_has_the_digest_of_the_layer_and_no_time(folder: Path, out: Path) -> None:
    write_image(folder, NAME, out, architecture="arm64")
    image = Image.read(out)
    assert image.config == {
        "architecture": "arm64",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [image.manifest["layers"][0]["digest"]]},
    }


@pytest.mark.parametrize(("machine", "architecture"), [("x86_64", "amd64"), ("aarch64", "arm64"), ("s390x", "s390x")])
def test_its_architecture_is_that_of_this_machine_in_the_words_of_images(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, machine: str, architecture: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    write_image(folder, NAME, out)
    assert Image.read(out).config["architecture"] == architecture


def test_the_same_files_give_the_same_archive_to_the_byte(folder: Path, out: Path, tmp_path: Path) -> None:
    write_image(folder, NAME, out)
    again = tmp_path / "elsewhere" / "copy"
    again.mkdir(parents=True)
    (again / "ticker.py").write_text("VERSION = 1\n")
    os.utime(again / "ticker.py", (1, 2))
    write_image(again, NAME, tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == out.read_bytes()


def test_the_digest_is_the_same_with_every_python(folder: Path, out: Path) -> None:
    digest = "79abc7cacd20f013f8211ff72e67b3fc3f4bcc3418a87038681cbc2535500ab8"
    assert write_image(folder, NAME, out, architecture="amd64") == f"{NAME}@sha256:{digest}"


def test_other_content_gives_another_digest(folder: Path, out: Path) -> None:
    before = write_image(folder, NAME, out)
    (folder / "ticker.py").write_text("VERSION = 2\n")
    assert write_image(folder, NAME, out) != before


def test_nothing_is_next_to_the_archive(folder: Path, out: Path) -> None:
    write_image(folder, NAME, out)
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_a_write_that_fails_leaves_the_archive_of_before_and_nothing_else(folder: Path, out: Path) -> None:
    write_image(folder, NAME, out)
    before = out.read_bytes()
    os.mkfifo(folder / "zz")
    with pytest.raises(ConfigError, match=r"zz is a FIFO"):
        write_image(folder, NAME, out)
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert out.read_bytes() == before


def test_a_full_disk_leaves_nothing(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(OSError, match="No space left"):
        write_image(folder, NAME, out)
    assert not list(out.parent.iterdir())


def test_a_write_that_is_killed_just_before_its_end_leaves_no_archive(folder: Path, out: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, folder, out], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    write_image(folder, NAME, out)
    assert Image.read(out).text("plugin/ticker.py") == "VERSION = 1\n"


def test_an_archive_is_readable_as_the_umask_says(folder: Path, out: Path) -> None:
    before = os.umask(0o027)
    try:
        write_image(folder, NAME, out)
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("repository", [NAME, "localhost/a", "registry:5000/team/my_plugin", "127.0.0.1:5000/a.b--c"])
def test_a_repository_with_its_registry_is_taken(folder: Path, out: Path, repository: str) -> None:
    assert write_image(folder, repository, out).startswith(f"{repository}@sha256:")


@pytest.mark.parametrize(
    "repository",
    [
        "",
        "ticker",
        "team/ticker",
        "a.example/Ticker",
        f"{NAME}:1",
        f"{NAME}@sha256:{'0' * 64}",
        f"{NAME}/",
        f"{NAME}\n",
    ],
)
def test_what_is_no_repository_with_its_registry_is_refused(folder: Path, out: Path, repository: str) -> None:
    with pytest.raises(ConfigError, match=r"is not an image repository; write <registry>/<name>"):
        write_image(folder, repository, out)


def test_what_cannot_be_read_or_written_is_named(folder: Path, out: Path, tmp_path: Path) -> None:
    for wrong, to, message in (
        (tmp_path / "no", out, "cannot build an image: .*/no is not a folder"),
        (folder / "ticker.py", out, "cannot build an image: .*/ticker.py is not a folder"),
        (folder, tmp_path / "no" / "image.tar", "cannot write the archive image.tar: .*/no is not a folder"),
        (folder, out.parent, "/out is a folder; use a file such as"),
        (folder, folder / "image.tar", "/plugin/image.tar is in the folder of the image's files"),
    ):
        with pytest.raises(ConfigError, match=message):
            write_image(wrong, NAME, to)
