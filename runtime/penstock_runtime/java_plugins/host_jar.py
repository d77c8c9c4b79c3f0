"""Jar of the plugin host, compiled once from the sources of a checkout, or shipped with the distribution.

`python -m penstock_runtime.java_plugins.host_jar FOLDER` prepares a wheel and an image: it compiles the jar into the
package, and copies it into the folder, with its dependencies.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.java_home import Java, find_java
from penstock_runtime.java_plugins import class_archive
from penstock_runtime.java_plugins.jars import COMPILER, JARS, fetched_jars, host_folder
from penstock_runtime.logs import configure_for_terminal, say
from penstock_runtime.maven import exclusively

__all__ = ["INSTALLED_VARIABLE", "archive", "class_path", "compile_jar"]

INSTALLED_VARIABLE: Final = "PENSTOCK_JAVA_HOST"
"""Folder with the jars and the archive of their classes, set in an image."""
_PACKAGED: Final = Path(__file__).with_name(class_archive.HOST_JAR)
_SOURCES: Final = Path(__file__).parents[2] / "java_host"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Timestamp of every file in the jar, so that equal sources make equal jars."""
_TIME: Final = datetime(*_EPOCH, tzinfo=UTC).timestamp()
_KEPT: Final = 8
"""Number of class archives to keep in the cache, newest first (16 MB each)."""


def class_path(java: Java, say: Callable[[str], None]) -> tuple[Path, ...]:
    """Return the class path of the plugin host in a fixed order, Penstock's own jar first.

    Raises:
        ConnectError: jars cannot be fetched, or Penstock's cannot be compiled.
    """
    if installed := os.environ.get(INSTALLED_VARIABLE):
        return tuple(class_archive.in_order(Path(installed)))
    libs = fetched_jars(java, say)
    own = _compiled(java, libs) if _SOURCES.is_dir() else _PACKAGED
    return (own, *(libs / file for file in sorted(jar.file for jar in JARS)))


def archive(java: Java, jars: Sequence[Path]) -> Path | None:
    """Return the archive of the classes in the jars of `class_path`; create it if it is not cached.

    Returns None if it cannot be created.
    """
    if installed := os.environ.get(INSTALLED_VARIABLE):
        return Path(installed, class_archive.ARCHIVE)
    made = jars[0].stat()
    key = hashlib.sha256(f"{java.build}\n{jars[0]} {made.st_size} {made.st_mtime_ns}".encode()).hexdigest()[:12]
    target = host_folder() / f"classes-{key}.jsa"
    if not target.exists():
        try:
            with exclusively(host_folder()):
                if not target.exists() and not class_archive.make(java.executable, jars, target):
                    target.touch()  # an empty file: this Java writes no archive, so do not try again
                _forget_old()
        except (OSError, subprocess.SubprocessError):  # without an archive, only the start takes longer
            return None
    return target


def compile_jar(java: Java, libs: Path, project: Path, target: Path) -> None:
    """Compile a folder with `src` and `resources` into a reproducible jar.

    Args:
        java: Java that runs the compiler.
        libs: folder returned by `fetched_jars`.
        project: folder to compile.
        target: jar to create.

    Raises:
        ConnectError: the compiler fails.
    """
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=target.parent) as name:
        classes = Path(name, "classes")
        path = ":".join(str(libs / jar.file) for jar in JARS)
        command = [
            *(str(java.executable), "-jar", str(libs / COMPILER.file)),
            *("--release", "17", "-encoding", "UTF-8", "-g:source,lines", "-warn:none", "-d", str(classes)),
            *("-cp", path, str(project / "src")),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ConnectError(f"cannot compile {project}: {done.stdout.strip()}\n{done.stderr.strip()}")
        new = Path(name, target.name)
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as jar:
            for root in (classes, project / "resources"):
                for file in sorted(f for f in root.rglob("*") if f.is_file()):
                    jar.writestr(zipfile.ZipInfo(file.relative_to(root).as_posix(), _EPOCH), file.read_bytes())
        new.rename(target)


def _compiled(java: Java, libs: Path) -> Path:
    digest = hashlib.sha256()
    for file in sorted(f for f in _SOURCES.rglob("*") if f.is_file()):
        digest.update(f"{file.relative_to(_SOURCES)}\n".encode() + file.read_bytes())
    target = host_folder() / f"penstock-host-{digest.hexdigest()[:12]}.jar"
    if not target.exists():
        with exclusively(host_folder()):
            if not target.exists():
                compile_jar(java, libs, _SOURCES, target)
    return target


def _forget_old() -> None:
    archives = sorted(host_folder().glob("classes-*.jsa"), key=lambda file: file.stat().st_mtime)
    for old in archives[:-_KEPT]:
        with suppress(OSError):
            old.unlink()


def _prepare(folder: Path) -> None:
    configure_for_terminal()
    java = find_java()
    own, *libs = class_path(java, say)
    shutil.copyfile(own, _PACKAGED)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(own, folder / class_archive.HOST_JAR)
    for jar in libs:
        shutil.copyfile(jar, folder / jar.name)
    for jar in folder.iterdir():
        # A class archive records the times of jars, and `make release` gives all files the same time.
        os.utime(jar, (_TIME, _TIME))


if __name__ == "__main__":
    _prepare(Path(sys.argv[1]))
