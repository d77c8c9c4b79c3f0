"""The oracle's classes: compiled once per source, Java and Kafka Connect into the cache, outside every checkout."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from penstock import ConnectError
from penstock_cli.embedded.jars import KAFKA_VERSION
from penstock_runtime.java_home import OLDEST, Java
from penstock_runtime.maven import cache_folder, exclusively

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
        # The compiler is a module of Java: Debian's runtime has it too, without the command `javac`.
        compiler = [str(java.executable), "-Xmx256m", "-m", "jdk.compiler/com.sun.tools.javac.Main"]
        # By name: it is Java's launcher that knows what `*` is, and it looks at its own class path only.
        path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
        done = subprocess.run(
            [*compiler, "-encoding", "UTF-8", "-cp", path, "-d", str(made), *map(str, sources)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        if done.returncode != 0:
            raise ConnectError(
                f"The oracle, which Penstock is compared with, cannot be compiled by {java.executable}:\n{done.stderr}\n"
                f"If that Java has no compiler (module jdk.compiler), install a development kit of Java {OLDEST} or newer "
                "(Debian, Ubuntu: apt-get install openjdk-17-jdk-headless)."
            )
        made.rename(classes)
