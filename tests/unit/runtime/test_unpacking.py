"""Archives of plugins are unpacked into their folder, whatever they hold."""

import gzip
import io
import os
import random
import stat
import tarfile
import tracemalloc
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_runtime import unpacking
from penstock_runtime.unpacking import unpack

GIB = 1 << 30


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where an archive is unpacked; nothing is written beside it."""
    around = tmp_path / "around"
    around.mkdir()
    yield around / "folder"
    assert [path.name for path in around.iterdir()] in ([], ["folder"])


def member(
    name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", size: int = 0, mode: int = 0o644
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, size, mode
    return info


def tar(path: Path, *members: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes]) -> Path:
    archive = path / "plugin.tar.gz"
    with tarfile.open(archive, "w:gz") as content:
        for each in members:
            info, data = each if isinstance(each, tuple) else (each, b"")
            info.size = len(data)
            content.addfile(info, io.BytesIO(data))
    return archive


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def zipped(path: Path, *entries: tuple[zipfile.ZipInfo, bytes]) -> Path:
    archive = path / "plugin.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for info, data in entries:
            content.writestr(info, data)
    return archive


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = {str(p.relative_to(folder)): p for p in folder.rglob("*") if not p.is_dir()}
    assert not [p for p in found.values() if p.is_symlink()]
    return {name: (p.read_bytes(), stat.S_IMODE(p.stat().st_mode)) for name, p in found.items()}


def refused(archive: Path, folder: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        unpack(archive, folder)
    (problem,) = raised.value.problems
    assert problem.message.startswith(f"cannot unpack the plugin archive {archive}: ")
    return problem.message.removeprefix(f"cannot unpack the plugin archive {archive}: ")


def test_files_have_their_content_and_of_their_modes_the_execute_bit(tmp_path: Path, folder: Path) -> None:
    expected = {"p/a.jar": (b"a", 0o644), "p/lib/run": (b"#!", 0o755)}
    unpack(tar(tmp_path, (member("./p/a.jar", mode=0o600), b"a"), (member("p/lib/run", mode=0o4711), b"#!")), folder)
    assert files(folder) == expected
    of_zip = folder.with_name("folder") / "zip"
    unpack(zipped(tmp_path, (entry("p/a.jar"), b"a"), (entry("p/lib/run", 0o100711), b"#!")), of_zip)
    assert files(of_zip) == expected


@pytest.mark.parametrize("name", ["/a.jar", "../a.jar", "p/../../a.jar", "..", "p/.."])
def test_a_file_or_a_folder_outside_is_refused_by_its_name(tmp_path: Path, folder: Path, name: str) -> None:
    archives = [
        tar(tmp_path, member("p/a.jar"), (member(name), b"a")),
        zipped(tmp_path, (entry("p/a.jar"), b""), (entry(name), b"a")),
    ]
    for number, archive in enumerate(archives):
        assert refused(archive, tmp_path / str(number)) == (
            f"it contains {name!r}, a path outside of the archive; if you trust it, unpack it yourself and use the folder"
        )
    assert "a path outside of the archive" in refused(tar(tmp_path, member(name, tarfile.DIRTYPE)), folder)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../a", "../..", "/"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_that_leads_outside_is_refused_and_not_followed(
    tmp_path: Path, folder: Path, target: str, kind: bytes
) -> None:
    message = refused(tar(tmp_path, member("p/x", kind, link=target), (member("p/x/a.jar"), b"a")), folder)
    assert message.startswith((f"'p/x' is a link to {target!r}, which is ", "it contains 'p/x' twice"))
    assert "which is" in refused(tar(tmp_path, member("p/x", kind, link=target)), tmp_path / "alone")
    message = refused(zipped(tmp_path, (entry("p/x", stat.S_IFLNK | 0o777), target.encode())), tmp_path / "zip")
    assert message.startswith(f"'p/x' is a link to {target!r}, which is ")


@pytest.mark.parametrize("target", ["nothing", "x", "y", "folder", "."])
def test_a_link_to_what_is_no_file_of_the_archive_is_refused(tmp_path: Path, folder: Path, target: str) -> None:
    members = [
        member("p/folder", tarfile.DIRTYPE),
        member("p/x", tarfile.SYMTYPE, link=target),
        member("p/y", tarfile.SYMTYPE, link="x"),
    ]
    assert f"'p/x' is a link to 'p/{target}'".replace("/.'", "'") in refused(tar(tmp_path, *members), folder)


def test_a_link_within_becomes_a_copy(tmp_path: Path, folder: Path) -> None:
    archive = tar(
        tmp_path,
        member("p/lib/one.jar", tarfile.SYMTYPE, link="two.jar"),
        member("p/lib/two.jar", tarfile.SYMTYPE, link="../a.jar"),
        (member("p/a.jar", mode=0o755), b"a"),
        member("b.jar", tarfile.LNKTYPE, link="p/a.jar"),
    )
    unpack(archive, folder)
    assert files(folder) == dict.fromkeys(("b.jar", "p/a.jar", "p/lib/one.jar", "p/lib/two.jar"), (b"a", 0o755))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_device_is_refused(tmp_path: Path, folder: Path, kind: bytes) -> None:
    message = refused(tar(tmp_path, member("p/x", kind)), folder)
    assert message.startswith("it contains 'p/x', which is neither a file nor a folder")
    message = refused(zipped(tmp_path, (entry("p/x", stat.S_IFIFO | 0o644), b"")), tmp_path / "zip")
    assert message.startswith("it contains 'p/x', which is neither a file nor a folder")


@pytest.mark.parametrize(
    "twice", [("p/a.jar", "p/a.jar"), ("p/a.jar", "p/./a.jar"), ("p", "p/a.jar"), ("p/a.jar", "p")]
)
def test_the_same_file_twice_is_refused(tmp_path: Path, folder: Path, twice: tuple[str, str]) -> None:
    assert " twice; " in refused(tar(tmp_path, *((member(name), name.encode()) for name in twice)), folder)
    with warnings.catch_warnings(action="ignore"):
        archive = zipped(tmp_path, *((entry(name), b"a") for name in twice))
    assert " twice; " in refused(archive, tmp_path / "zip")


def test_a_folder_may_be_there_twice(tmp_path: Path, folder: Path) -> None:
    kind = tarfile.DIRTYPE
    unpack(tar(tmp_path, member("p/lib/a.jar"), member("p", kind), member("./", kind), member("p/lib", kind)), folder)
    assert list(files(folder)) == ["p/lib/a.jar"]


def test_an_archive_that_unpacks_to_more_than_2_gib_is_refused_before_the_disk_is_full(
    tmp_path: Path, folder: Path
) -> None:
    large = member("p/large.jar")
    with gzip.open(tmp_path / "plugin.tar.gz", "wb", compresslevel=1) as content:
        large.size = 2 * GIB + 1
        content.write(large.tobuf())
        content.write(bytes(1 << 20))
    message = refused(tmp_path / "plugin.tar.gz", folder)
    assert message.startswith("it has more than 2 GiB when unpacked; if you trust it, unpack it yourself")
    assert not files(folder)
    archive = zipped(tmp_path, (entry("p/a.jar"), b"a"), (entry("p/large.jar"), b"b"))
    data = bytearray(archive.read_bytes())
    of_large = data.rindex(b"PK\x01\x02")
    data[of_large + 24 : of_large + 28] = (2 * GIB).to_bytes(4, "little")
    archive.write_bytes(data)
    assert refused(archive, tmp_path / "zip").startswith("it has more than 2 GiB when unpacked")
    assert list(files(tmp_path / "zip")) == ["p/a.jar"]


def test_a_header_that_does_not_end_fills_no_memory(tmp_path: Path, folder: Path) -> None:
    header = member("p/a.jar", tarfile.XHDTYPE)
    header.size = GIB
    with gzip.open(tmp_path / "plugin.tar.gz", "wb", compresslevel=1) as content:
        content.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(64):
            content.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        assert refused(tmp_path / "plugin.tar.gz", folder).startswith("it has a header of more than 1 MiB")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_an_archive_of_countless_folders_is_refused(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_MOST_ENTRIES", 100)
    few_files = ("/".join([str(n), *["a"] * 48, "x"]) for n in range(4))
    message = refused(tar(tmp_path, *map(member, few_files)), folder)
    assert message.startswith("it contains more than 100 files and folders; ")
    message = refused(tar(tmp_path, member("/".join(["a"] * 900))), tmp_path / "deep")
    assert message.startswith("it contains paths with more than 50 levels; ")


def test_what_is_cut_off_or_damaged_is_said_to_be_so_wherever_it_is(tmp_path: Path, folder: Path) -> None:
    chosen = random.Random(1)
    of_tar = tar(tmp_path, (member("p/a.jar"), chosen.randbytes(3000)), (member("p/b.jar"), bytes(3000)))
    of_zip = zipped(tmp_path, (entry("p/a.jar"), chosen.randbytes(3000)), (entry("p/b.jar"), bytes(3000)))
    for archive in (of_tar, of_zip):
        whole = archive.read_bytes()
        for number, length in enumerate({0, 1, 10, 100, len(whole) // 2, len(whole) - 1}):
            archive.write_bytes(whole[:length])
            assert refused(archive, tmp_path / f"{archive.name}-{number}").endswith("; download it again")
        for number in range(300):
            damaged = bytearray(whole)
            for _ in range(chosen.randint(1, 4)):
                damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
            archive.write_bytes(damaged)
            with suppress(ConfigError, FileNotFoundError):
                unpack(archive, folder / f"{archive.name}-{number}" if folder.exists() else folder)
    of_tar.write_text("<html>not found</html>")
    assert refused(of_tar, tmp_path / "html") == "Not a gzipped file (b'<h'); download it again"


def test_a_name_from_a_stranger_is_shown_so_that_a_terminal_obeys_nothing(tmp_path: Path, folder: Path) -> None:
    message = refused(tar(tmp_path, member("../\x1b[2J" + "x" * 300)), folder)
    assert message.isprintable()
    assert len(message) < 600


def test_the_umask_counts_for_nothing(tmp_path: Path, folder: Path) -> None:
    before = os.umask(0o077)
    try:
        unpack(tar(tmp_path, (member("p/a.jar"), b"a")), folder)
    finally:
        os.umask(before)
    assert files(folder) == {"p/a.jar": (b"a", 0o644)}
