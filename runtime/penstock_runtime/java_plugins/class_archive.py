"""Class-data archive of the plugin host: its classes, parsed and verified once, mapped into memory by each JVM.

A JVM started with it needs two thirds of the CPU time and 25 MB less memory. The build of an image creates the archive
in the image (`python class_archive.py FOLDER`); a checkout or an installed wheel creates it in the cache at the first start.
It is optional: Java ignores an archive that does not match its version, the jars or the class path. This module imports
nothing of Penstock, so that an image can hold the archive in a layer below our code.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

__all__ = ["ARCHIVE", "HOST_JAR", "MAIN", "in_order", "make", "options"]

ARCHIVE: Final = "penstock-classes.jsa"
"""Name of the archive in the folder of an image."""
HOST_JAR: Final = "penstock-host.jar"
MAIN: Final = "dev.penstock.host.Main"
_PATIENCE: Final = 120.0  # seconds
_TRAINING: Final = "connect-transforms-"
"""Jar with the plugins that the training run lists, creates and calls."""
_TRANSFORM: Final = "org.apache.kafka.connect.transforms.InsertField$Value"
_LENGTH: Final = struct.Struct(">I")


def options(archive: Path | None) -> list[str]:
    """Return Java's options for an archive; no options if there is no archive."""
    if archive is None or not archive.exists() or archive.stat().st_size == 0:
        return []
    # Silent if the archive does not match: Java would warn about it in its standard output.
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def in_order(folder: Path) -> list[Path]:
    """Return the jars of an image's folder in the order of the class path: Penstock's jar first."""
    return [folder / HOST_JAR, *sorted(jar for jar in folder.glob("*.jar") if jar.name != HOST_JAR)]


def make(java: Path, jars: Sequence[Path], archive: Path) -> bool:
    """Run a host that exercises all kinds of calls, and let Java archive the classes it has loaded when it exits.

    Args:
        java: the Java executable.
        jars: the class path. Java compares it as a string.
        archive: file to create; it appears only when it is complete.

    Returns:
        Whether Java has written the archive: a Java without an archive of the JDK's classes does not.

    Raises:
        OSError: the folder cannot be written.
    """
    location = next(str(jar) for jar in jars if jar.name.startswith(_TRAINING))
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=archive.parent) as name:
        new = Path(name, archive.name)
        training = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-XX:ArchiveClassesAtExit={new}"]
        code = _run([str(java), *training, "-Xlog:disable", "-cp", ":".join(map(str, jars)), MAIN], location)
        if code != 0 or not new.exists():
            return False
        new.chmod(0o644)
        with new.open("rb") as content:
            os.fsync(content.fileno())  # Java maps an archive without checking that it is complete
        new.rename(archive)
        return True


def _run(command: list[str], location: str) -> int:
    plugin = {"location": location, "class": _TRANSFORM}
    properties = {"static.field": "a", "static.value": "b"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("plugins", {"location": location}),
        ("config", plugin),
        ("validate_definition", {**plugin, "prefix": "", "properties": properties}),
        ("make_step", {**plugin, "properties": properties, "tags": {}}),
        ("metrics", {}),
    ]
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [*command, str(writing)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(writing,),
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    assert process.stdin is not None
    with os.fdopen(reading, "rb") as messages, process.stdin as requests:
        for number, (method, arguments) in enumerate(calls):
            content = msgspec.msgpack.encode(["call", number, method, arguments])
            requests.write(_LENGTH.pack(len(content)) + content)
        requests.flush()
        _await(messages, len(calls))
    try:
        return process.wait(_PATIENCE)
    finally:
        process.kill()


def _await(messages: IO[bytes], answers: int) -> None:
    """Read until all calls are answered, the JVM has ended, or the time is up.

    The time is checked after each message; the JVM sends one at least every five seconds.
    """
    deadline = time.monotonic() + _PATIENCE
    while answers and time.monotonic() < deadline and len(head := messages.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        message = msgspec.msgpack.decode(messages.read(length))
        answers -= message[0] in ("result", "error")


if __name__ == "__main__":
    _folder = Path(sys.argv[1])
    _home = os.environ.get("JAVA_HOME")
    _java = str(Path(_home, "bin", "java")) if _home else shutil.which("java")
    if _java is None or not make(Path(_java), in_order(_folder), _folder / ARCHIVE):
        sys.exit("cannot archive the classes of the plugin host: Java wrote no archive")
