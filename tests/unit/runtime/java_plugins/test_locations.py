"""A plugin path as Kafka Connect has it, with archives."""

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock_runtime.java_plugins.locations import plugin_locations


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


def jar(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as content:
        content.writestr("a.txt", "a")
    return path


def test_a_folder_of_plugins_has_a_location_for_each(tmp_path: Path) -> None:
    jar(tmp_path / "path" / "one" / "a.jar")
    jar(tmp_path / "path" / "two" / "lib" / "b.jar")
    alone = jar(tmp_path / "path" / "three.jar")
    found = plugin_locations([str(tmp_path / "path")])
    assert found == (tmp_path / "path/one", tmp_path / "path/two/lib", alone)


def test_a_folder_whose_jars_are_one_plugin_is_one_location(tmp_path: Path) -> None:
    jar(tmp_path / "plugin" / "a.jar")
    jar(tmp_path / "plugin" / "b.jar")
    assert plugin_locations([str(tmp_path / "plugin")]) == (tmp_path / "plugin",)


def test_a_jar_is_a_location(tmp_path: Path) -> None:
    alone = jar(tmp_path / "a.jar")
    assert plugin_locations([str(alone), str(alone)]) == (alone,)


@pytest.mark.parametrize("ending", [".zip", ".tar.gz"])
def test_an_archive_is_unpacked_once(tmp_path: Path, ending: str) -> None:
    inner = jar(tmp_path / "a.jar")
    archive = tmp_path / f"plugin{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(archive, "w") as content:
            content.write(inner, "plugin/lib/a.jar")
    else:
        with tarfile.open(archive, "w:gz") as content:
            content.add(inner, "plugin/a.jar")
    (location,) = plugin_locations([str(archive)])
    assert (location / "a.jar").is_file()
    assert location.is_relative_to(tmp_path / "cache")
    assert plugin_locations([str(archive)]) == (location,)


def test_all_that_is_wrong_is_said_together(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "b.jar").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(ConfigError) as caught:
        plugin_locations([str(tmp_path / "none"), str(tmp_path / "empty")])
    missing, empty = (p.message for p in caught.value.problems)
    assert missing.startswith(f"cannot find plugins in {tmp_path}/none: it does not exist; name a folder")
    assert empty.startswith(f"cannot find plugins in {tmp_path}/empty: it contains no jar;")
    with pytest.raises(ConfigError, match=f"cannot read the jar {tmp_path}/broken/b.jar: .*; download it again"):
        plugin_locations([str(tmp_path / "broken")])


@pytest.mark.parametrize("length", [10, 1_000])
def test_an_archive_that_is_cut_off_is_named(tmp_path: Path, length: int) -> None:
    (tmp_path / "a.jar").write_bytes(os.urandom(10_000))
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as content:
        content.add(tmp_path / "a.jar", "plugin/a.jar")
    os.truncate(tmp_path / "a.tar.gz", length)
    with pytest.raises(ConfigError, match=r"cannot unpack the plugin archive .*a\.tar\.gz: .*; download it again"):
        plugin_locations([str(tmp_path / "a.tar.gz")])


def test_an_archive_writes_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    inner = jar(tmp_path / "a.jar")
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as content:
        content.add(inner, "../../../outside.jar")
    with pytest.raises(ConfigError, match="cannot unpack"):
        plugin_locations([str(tmp_path / "evil.tar.gz")])
    assert not list(tmp_path.rglob("outside.jar"))


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as content:
        content.writestr("plugin/a.jar", "")
    (tmp_path / "file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ConfigError, match=r"cannot unpack the plugin archive .*a\.zip into .*PENSTOCK_CACHE"):
        plugin_locations([str(tmp_path / "a.zip")])


def test_an_encrypted_archive_is_named(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("plugin/a.jar", "")
    data = bytearray(archive.read_bytes())
    data[6] |= 1  # the flag in the file's own header, and in the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(ConfigError, match=r"cannot unpack the plugin archive .*a\.zip: .*encrypted"):
        plugin_locations([str(archive)])
