"""Fetch files from Maven Central once, with the Ivy that PySpark includes, into a cache outside of any checkout."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from penstock.errors import ConnectError
from penstock_runtime.java_home import Java
from penstock_runtime.process import start_tied

__all__ = ["Jar", "cache_folder", "exclusively", "fetch_archive", "fetch_jars", "fetch_pinned"]

_PATIENCE: Final = 900.0  # seconds, for a slow network
_MODULE: Final = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="penstock" module="fetched"/>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_WITHOUT_POMS: Final = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false" checksums=""/></resolvers>
</ivysettings>
"""
"""Ivy settings for files whose dependencies and checksums are known. They save four requests per file, for its POM, its
parent's POM, and their checksums: Kafka is fetched in 8 s instead of 30 s."""


class Jar(NamedTuple):
    """File of Maven Central and the SHA-256 of its content."""

    organization: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """File name of the jar."""
        return f"{self.name}-{self.version}.jar"

    @property
    def dependency(self) -> str:
        """Ivy's `<dependency>` element for this jar, without its dependencies."""
        return (
            f'<dependency org="{self.organization}" name="{self.name}" rev="{self.version}" transitive="false" '
            'conf="default->default"/>'
        )


def cache_folder() -> Path:
    """Return the folder for files that are fetched once: `PENSTOCK_CACHE`, else `penstock` in the user's cache folder."""
    if chosen := os.environ.get("PENSTOCK_CACHE"):
        return Path(chosen).absolute()
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen).absolute() / "penstock"
    return Path.home() / ".cache" / "penstock"


@contextmanager
def exclusively(folder: Path) -> Iterator[None]:
    """Lock a folder of the cache, so that only one process fills it. Work only in its `unfinished-*` folders."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left_by_a_killed_process in folder.glob("unfinished-*"):
            shutil.rmtree(left_by_a_killed_process, ignore_errors=True)
        yield


def fetch_pinned(java: Java, jars: Sequence[Jar], libs: Path, *, what: str, remedy: str = "") -> None:
    """Fetch exactly these jars into a folder, and verify their checksums; otherwise like `fetch_jars`."""
    fetch_jars(
        java,
        [jar.dependency for jar in jars],
        libs,
        what=what,
        check=lambda fetched: _wrong(fetched, jars),
        remedy=remedy,
        settings=_WITHOUT_POMS,
    )


def fetch_jars(
    java: Java,
    dependencies: Iterable[str],
    libs: Path,
    *,
    what: str,
    check: Callable[[Path], str | None],
    remedy: str = "",
    settings: str | None = None,
) -> None:
    """Fetch jars into a folder, which appears only when it is complete. Must be called within `exclusively(libs.parent)`.

    Args:
        java: Java that runs Ivy.
        dependencies: `<dependency .../>` elements of an Ivy file.
        libs: folder to create.
        what: name of the fetched files, for messages.
        check: returns an error message for a folder of fetched jars; None if they are valid.
        remedy: end of the message if Maven Central cannot be reached.
        settings: content of Ivy's settings file; None: Ivy's defaults.

    Raises:
        ConnectError: the jars cannot be fetched; the message says what to do.
    """
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=libs.parent) as name:
        work = Path(name)
        module = _MODULE.format(dependencies="\n".join(f"    {d}" for d in dependencies))
        (work / "ivy.xml").write_text(module, encoding="ascii")
        if settings is not None:
            (work / "settings.xml").write_text(settings, encoding="ascii")
        command = [
            *(sys.executable, "-I", "-S", start_tied.__file__, str(os.getpid()), str(int(signal.SIGKILL))),
            str(java.executable),
            "-Dsun.net.client.defaultConnectTimeout=20000",
            "-Dsun.net.client.defaultReadTimeout=60000",
            *("-cp", str(_ivy()), "org.apache.ivy.Main", "-ivy", "ivy.xml", "-confs", "default", "-cache", "ivy"),
            *(() if settings is None else ("-settings", "settings.xml")),
            *("-retrieve", "libs/[artifact]-[revision](-[classifier]).[ext]"),
        ]
        log = libs.parent / "fetch.log"
        with log.open("w") as output:
            try:
                done = subprocess.run(command, cwd=work, stdout=output, stderr=output, timeout=_PATIENCE, check=False)
            except subprocess.TimeoutExpired as error:
                raise _failure(what, libs, log, f"timed out after {_PATIENCE:.0f} s", remedy) from error
        wrong = f"Ivy exited with code {done.returncode}" if done.returncode != 0 else check(work / "libs")
        if wrong is not None:
            raise _failure(what, libs, log, wrong, remedy)
        if libs.exists():  # an incomplete folder, put there manually
            shutil.rmtree(libs)
        (work / "libs").rename(libs)


def fetch_archive(
    java: Java, organization: str, name: str, version: str, sha256: str, say: Callable[[str], None]
) -> Path:
    """Return the archive of a Kafka Connect plugin (`tar.gz` with classifier `plugin`). Fetch it if it is not cached.

    Raises:
        ConnectError: the archive cannot be fetched, or its checksum differs.
    """
    folder = cache_folder() / "archives" / f"{name}-{version}"
    libs = folder / "libs"
    archive = libs / f"{name}-{version}-plugin.tar.gz"

    def wrong(libs: Path) -> str | None:
        found = (
            hashlib.sha256((libs / archive.name).read_bytes()).hexdigest() if (libs / archive.name).is_file() else None
        )
        return None if found == sha256 else f"{archive.name} has the SHA-256 {found}, not {sha256}"

    if not libs.is_dir():
        with exclusively(folder):
            if not libs.is_dir():
                say(f"Fetching {name} {version} (once)...")
                artifact = f'<artifact name="{name}" type="tar.gz" ext="tar.gz" m:classifier="plugin"/>'
                where = f'org="{organization}" name="{name}" rev="{version}" transitive="false" conf="default->default"'
                dependency = f"<dependency {where}>{artifact}</dependency>"
                fetch_jars(java, [dependency], libs, what=f"{name} {version}", check=wrong)
    return archive


def _wrong(libs: Path, jars: Sequence[Jar]) -> str | None:
    """Describe the first file that is missing or differs from its pin; None if there is none."""
    for jar in jars:
        file = libs / jar.file
        if not file.is_file():
            return f"{jar.file} is missing"
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if found != jar.sha256:
            return f"{jar.file} has the SHA-256 {found}, not {jar.sha256}"
    return None


def _failure(what: str, libs: Path, log: Path, cause: str, remedy: str) -> ConnectError:
    return ConnectError(
        f"cannot fetch {what} from Maven Central: {cause} (log: {log}); check the network and start again; behind a "
        "proxy, set JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'; without a network, copy the "
        f"folder {libs} from a machine that has it{remedy}"
    )


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    for origin in spec.submodule_search_locations or () if spec else ():
        for jar in Path(origin, "jars").glob("ivy-*.jar"):
            return jar
    raise ConnectError(
        "cannot fetch Java programs: PySpark, which includes Ivy, is not installed; install the extra [runtime]"
    )
