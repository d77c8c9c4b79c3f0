"""What of a folder is in the layer of its image, and what is refused."""

import os
import socket
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_cli.plugin.archive import write_image

from .images import Image

NAME = "plugins.example/ticker"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "plugin"
    (folder / "ticker").mkdir(parents=True)
    (folder / "ticker" / "__init__.py").write_text("VERSION = 1\n")
    return folder


def image_of(folder: Path) -> Image:
    archive = folder.parent / "image.tar"
    write_image(folder, NAME, archive)
    return Image.read(archive)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_it_holds_the_files_in_their_folder_and_each_folder_before_its_files(folder: Path) -> None:
    (folder / "ticker.txt").write_text("text")
    image = image_of(folder)
    assert list(image.members()) == ["plugin", "plugin/ticker", "plugin/ticker/__init__.py", "plugin/ticker.txt"]
    assert image.text("plugin/ticker/__init__.py") == "VERSION = 1\n"


def test_no_owner_no_time_and_of_the_modes_only_the_execute_bit_is_kept(folder: Path) -> None:
    script, secret = folder / "run", folder / "secret"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o4710)
    secret.write_text("text")
    secret.chmod(0o600)
    members = image_of(folder).members()
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members.values()} == {(0, 0, "", "", 0)}
    assert {name: m.mode for name, m in members.items()} == {
        "plugin": 0o755,
        "plugin/run": 0o755,
        "plugin/secret": 0o644,
        "plugin/ticker": 0o755,
        "plugin/ticker/__init__.py": 0o644,
    }


def test_long_paths_are_kept_whole(folder: Path) -> None:
    deep = folder.joinpath(*["a-folder-with-a-long-name"] * 12, f"{'ä' * 100}.py")
    deep.parent.mkdir(parents=True)
    deep.write_text("x = 1\n")
    name = f"plugin/{deep.relative_to(folder)}"
    assert len(name) > 400
    assert image_of(folder).text(name) == "x = 1\n"


def test_the_order_does_not_depend_on_the_file_system(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b", "a", "Z", "ä", "a.b", "a-b"):
        (folder / name).write_text(name)
    first = image_of(folder)
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    assert image_of(folder) == first


def test_bytecode_is_left_out(folder: Path) -> None:
    before = image_of(folder).digest
    (folder / "ticker" / "__pycache__").mkdir()
    (folder / "ticker" / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"x")
    (folder / "old.pyc").write_bytes(b"x")
    assert image_of(folder).digest == before


def test_a_link_within_the_folder_is_kept_and_leads_to_the_same_file_in_the_image(folder: Path, tmp_path: Path) -> None:
    (folder / "latest").symlink_to("ticker")  # a folder
    (folder / "ticker" / "absolute.py").symlink_to(folder / "ticker" / "__init__.py")
    (folder / "ticker" / "around.py").symlink_to("../../plugin/ticker/__init__.py")
    image = image_of(folder)
    assert [name for name, m in image.members().items() if m.issym()] == [
        "plugin/latest",
        "plugin/ticker/absolute.py",
        "plugin/ticker/around.py",
    ]
    unpacked = image.unpack(tmp_path / "mounted") / "plugin"
    for name in ("latest/__init__.py", "ticker/absolute.py", "ticker/around.py"):
        assert (unpacked / name).resolve() == (unpacked / "ticker" / "__init__.py").resolve()


@pytest.mark.parametrize("target", ["../outside.txt", "/etc/hostname", "..", "../plugin-2/x"])
def test_a_link_that_leads_out_of_the_folder_is_refused_by_its_name(folder: Path, target: str) -> None:
    (folder.parent / "outside.txt").write_text("text")
    (folder.parent / "plugin-2").mkdir()
    (folder.parent / "plugin-2" / "x").write_text("text")
    (folder / "ticker" / "link").symlink_to(Path(*[".."] * target.startswith("..")) / target)
    with pytest.raises(ConfigError, match=r"ticker/link is a link to .*, which is outside the folder"):
        image_of(folder)


@pytest.mark.parametrize("target", ["nothing", "link"])
def test_a_link_that_leads_nowhere_is_refused_by_its_name(folder: Path, target: str) -> None:
    (folder / "ticker" / "link").symlink_to(target)
    with pytest.raises(ConfigError, match=r"ticker/link is a link to .*, which is broken \(.+\)"):
        image_of(folder)


def test_a_fifo_is_refused_by_its_name_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "ticker" / "pipe")
    with pytest.raises(ConfigError, match="ticker/pipe is a FIFO; "):
        image_of(folder)


def test_a_socket_is_refused_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        with pytest.raises(ConfigError, match="s is a socket; "):
            image_of(folder)


def test_the_layer_reads_as_tar_files_of_old_do_where_its_paths_are_short(folder: Path) -> None:
    image = image_of(folder)
    assert all(not m.pax_headers for m in image.members().values())
    assert image.layer[257:265] == b"ustar\x0000"
    assert len(image.layer) % tarfile.RECORDSIZE == 0


def test_the_umask_does_not_count(folder: Path, tmp_path: Path) -> None:
    before = image_of(folder).digest
    with umask(0o077):
        (tmp_path / "again" / "plugin" / "ticker").mkdir(parents=True)
        (tmp_path / "again" / "plugin" / "ticker" / "__init__.py").write_text("VERSION = 1\n")
        assert image_of(tmp_path / "again" / "plugin").digest == before
