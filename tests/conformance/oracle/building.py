"""The oracle's classes: compiled once per source, Java and Kafka Connect into the cache, outside every checkout."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from penstock import ConnectError
from penstock_runtime.embedded.jars import KAFKA_VERSION, cache_folder, exclusively
from penstock_runtime.java import OLDEST, Java

__all__ = ["compiled"]

_HERE = Path(__file__).parent


def compiled(java: Java, jars: Path) -> Path:
    """The folder with the oracle's classes, compiled first when the cache has none of this source.

    Raises:
        ConnectError: there is no compiler, or it refuses the source; the message says what to do.
    """
    sources = sorted(_HERE.glob("*.java"))
    home = cache_folder() / "conformance-oracle"
    classes = home / _mark(java, sources)
    if not classes.exists():
        with exclusively(home):
            if not classes.exists():
                _compile(java, jars, sources, classes)
    return classes


def _mark(java: Java, sources: Iterable[Path]) -> str:
    words = hashlib.sha256(f"{java.build}\n{KAFKA_VERSION}\n".encode())
    for source in sources:
        words.update(source.name.encode() + b"\0" + source.read_bytes())
    return words.hexdigest()[:16]


def _compile(java: Java, jars: Path, sources: Iterable[Path], classes: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=classes.parent) as name:
        made = Path(name) / "classes"
        command = [str(_compiler(java)), "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", str(made), *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            raise ConnectError(f"The oracle cannot be compiled ({' '.join(command)}):\n{done.stderr}")
        made.rename(classes)


def _compiler(java: Java) -> Path:
    beside = java.executable.resolve().with_name("javac")
    if os.access(beside, os.X_OK):
        return beside
    if found := shutil.which("javac"):
        return Path(found)
    raise ConnectError(
        f"The Java compiler is missing, which the comparison with Kafka Connect needs: there is no {beside}. Install a "
        f"development kit of Java {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless)"
    )
