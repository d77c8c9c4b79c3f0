"""Kafka's jars: fetched once from Maven Central, by PySpark's own Ivy, into a cache outside every checkout."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import ConnectError
from penstock_runtime.java import Java

__all__ = ["KAFKA_VERSION", "cache_folder", "exclusively", "kafka_folder", "kafka_jars"]

KAFKA_VERSION = "4.3.1"
_NEEDED = (f"kafka_2.13-{KAFKA_VERSION}.jar", f"kafka-clients-{KAFKA_VERSION}.jar")
# Kafka brings no binding for its logging interface; the one of its own log4j version makes its log readable.
_MODULE = f"""\
<ivy-module version="2.0">
  <info organisation="penstock" module="embedded-kafka"/>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA_VERSION}" conf="default->default"/>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default->default"/>
  </dependencies>
</ivy-module>
"""
_PATIENCE = 900.0  # seconds, for a slow line


def cache_folder() -> Path:
    """The folder of things that are fetched once: `PENSTOCK_CACHE`, else `penstock` in the user's cache folder."""
    if chosen := os.environ.get("PENSTOCK_CACHE"):
        return Path(chosen).absolute()
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen).absolute() / "penstock"
    return Path.home() / ".cache" / "penstock"


def kafka_folder() -> Path:
    """Where Kafka stands in the cache: its jars in `libs`, and what is made from them."""
    return cache_folder() / f"kafka-{KAFKA_VERSION}"


def kafka_jars(java: Java, say: Callable[[str], None]) -> tuple[Path, ...]:
    """Give Kafka's jars, fetched first when the cache has none.

    Args:
        java: runs Ivy.
        say: takes a line about what takes long.

    Raises:
        ConnectError: they cannot be fetched; the message says what to do.
    """
    folder = kafka_folder()
    libs = folder / "libs"
    if not _complete(libs):
        try:
            with exclusively(folder):
                if not _complete(libs):
                    say(f"Fetching Kafka {KAFKA_VERSION} (44 MB, once)...")
                    _fetch(java, libs)
        except OSError as error:
            raise ConnectError(
                f"Kafka {KAFKA_VERSION} cannot be kept in {folder} ({error}): make room there, or let PENSTOCK_CACHE "
                "name a folder that can be written"
            ) from error
    # Java checks an archive of classes against the class path, so the order is fixed.
    return tuple(sorted(libs.glob("*.jar")))


@contextmanager
def exclusively(folder: Path) -> Iterator[None]:
    """Hold a folder of the cache against other processes that would fill it too; work in `unfinished-*` folders."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left_by_a_killed_process in folder.glob("unfinished-*"):
            shutil.rmtree(left_by_a_killed_process, ignore_errors=True)
        yield


def _complete(libs: Path) -> bool:
    return all((libs / name).is_file() for name in _NEEDED)


def _fetch(java: Java, libs: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=libs.parent) as name:
        work = Path(name)
        (work / "ivy.xml").write_text(_MODULE, encoding="ascii")
        command = [
            str(java.executable),
            "-Dsun.net.client.defaultConnectTimeout=20000",
            "-Dsun.net.client.defaultReadTimeout=60000",
            *("-cp", str(_ivy()), "org.apache.ivy.Main", "-ivy", "ivy.xml", "-confs", "default", "-cache", "ivy"),
            *("-retrieve", "libs/[artifact]-[revision](-[classifier]).[ext]"),
        ]
        log = libs.parent / "fetch.log"
        with log.open("w") as output:
            try:
                done = subprocess.run(command, cwd=work, stdout=output, stderr=output, timeout=_PATIENCE, check=False)
            except subprocess.TimeoutExpired as error:
                raise _failure(libs, log, f"not done after {_PATIENCE:.0f} s") from error
        if done.returncode != 0 or not _complete(work / "libs"):
            raise _failure(libs, log, f"Ivy ended with {done.returncode}")
        if libs.exists():  # an incomplete one, put there by hand
            shutil.rmtree(libs)
        (work / "libs").rename(libs)


def _failure(libs: Path, log: Path, cause: str) -> ConnectError:
    return ConnectError(
        f"Kafka {KAFKA_VERSION} cannot be fetched from Maven Central ({cause}; log: {log}). Check the network "
        "and start again; behind a proxy set JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'; "
        f"without a network copy the folder {libs} from a machine that has it, or use a broker of yours with "
        "--bootstrap-servers."
    )


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    for origin in spec.submodule_search_locations or () if spec else ():
        for jar in Path(origin, "jars").glob("ivy-*.jar"):
            return jar
    raise ConnectError("PySpark, whose Ivy fetches Kafka, is not installed: pip install 'penstock[runtime]'")
