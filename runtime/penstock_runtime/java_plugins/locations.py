"""Find the locations of plugins, each a folder of jars or a jar, on a plugin path as in Kafka Connect.

An entry of the path is a jar, an archive (`.zip`, `.tar.gz`), a folder of plugins, each a folder or a jar, or a folder whose
jars are one plugin. Archives are unpacked once into the cache.
"""

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock_runtime.maven import cache_folder, exclusively
from penstock_runtime.unpacking import ENDINGS, unpack

__all__ = ["jars_of", "plugin_locations", "plugins_of"]

_OPTION: Final = "--plugin-path"
_MANIFEST: Final = "manifest.json"
"""File that plugins from Confluent Hub have next to `lib`."""


def plugin_locations(path: Iterable[str]) -> tuple[Path, ...]:
    """Return the absolute location of each plugin on a path, without duplicates.

    Raises:
        ConfigError: entries are missing, hold no jar, or hold a file that is not a jar; lists all of them.
    """
    problems: list[Problem] = []
    found: dict[Path, None] = {}
    for entry in path:
        try:
            found.update(dict.fromkeys(_locations(Path(entry).absolute())))
        except ConfigError as e:
            problems += e.problems
    for location in found:
        problems += _broken_jars(location)
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def _locations(entry: Path) -> Iterator[Path]:
    if entry.is_file() and entry.suffix == ".jar":
        yield entry
    elif entry.is_file() and entry.name.endswith(ENDINGS):
        yield from _in_folder(_unpacked(entry), entry)
    elif entry.is_dir():
        yield from _in_folder(entry, entry)
    else:
        kind = "is not a folder, a jar or an archive" if entry.exists() else "does not exist"
        raise ConfigError(
            Problem(
                _OPTION,
                f"cannot find plugins in {entry}: it {kind}; name a folder of plugins, a jar, a .zip or a .tar.gz",
            )
        )


def _in_folder(folder: Path, shown: Path) -> Iterator[Path]:
    plugins = plugins_of(folder)
    if not plugins:
        raise ConfigError(
            Problem(
                _OPTION,
                f"cannot find plugins in {shown}: it contains no jar; name the folder into which the plugin was unpacked",
            )
        )
    for plugin in plugins:
        yield _innermost(plugin) if plugin.is_dir() else plugin


def plugins_of(folder: Path) -> list[Path]:
    """Return the plugins in a folder, which are folders or jars; the folder itself if it is a single plugin."""
    children = sorted(folder.iterdir())
    jars = [c for c in children if c.suffix == ".jar"]
    folders = [c for c in children if c.is_dir() and _has_jars(c)]
    is_one = (folder / _MANIFEST).is_file() or (jars and not folders)
    return [folder] if is_one and (jars or folders) else [*folders, *jars]


def jars_of(location: Path) -> list[Path]:
    """Return the jars of a plugin."""
    return [location] if location.is_file() else sorted(location.rglob("*.jar"))


def _innermost(folder: Path) -> Path:
    """Return the only folder with jars of a plugin, since archives often nest it (`plugin/lib`); else the folder itself."""
    holders = {jar.parent for jar in folder.rglob("*.jar")}
    return holders.pop() if len(holders) == 1 else folder


def _has_jars(folder: Path) -> bool:
    return any(True for _ in folder.rglob("*.jar"))


def _broken_jars(location: Path) -> Iterator[Problem]:
    """Yield a problem for each broken jar: Java silently ignores it, and its classes are then "not found"."""
    for jar in jars_of(location):
        try:
            with zipfile.ZipFile(jar):
                pass
        except (OSError, zipfile.BadZipFile) as e:
            yield Problem(_OPTION, f"cannot read the jar {jar}: {e}; download it again")


def _unpacked(archive: Path) -> Path:
    """Return the unpacked archive; unpack it into the cache first if needed."""
    try:
        with archive.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()[:16]
    except OSError as e:
        raise ConfigError(Problem(_OPTION, f"cannot read the plugin archive {archive}: {e}")) from e
    home = cache_folder() / "java-plugins"
    folder = home / digest
    if not folder.is_dir():
        try:
            with exclusively(home), tempfile.TemporaryDirectory(prefix="unfinished-", dir=home) as name:
                if not folder.is_dir():
                    work = Path(name, "content")
                    unpack(archive, work)
                    shutil.move(work, folder)
        except ConfigError as e:
            raise ConfigError(Problem(_OPTION, p.message) for p in e.problems) from e
        except OSError as e:
            problem = (
                f"cannot unpack the plugin archive {archive} into {home}: {e}; free space there, or set PENSTOCK_CACHE "
                "to a writable folder"
            )
            raise ConfigError(Problem(_OPTION, problem)) from e
    return folder
