"""Class-data archive for Spark: its classes, parsed and verified once, mapped into memory at every later start of a JVM.

A JVM with the archive starts in half the time, with half the CPU time (4 s instead of 8). The archive is in the folder of
PySpark, where the build of the image and the project's tests create it (`python class_archive.py`). It is optional: Java
ignores an archive that does not match its version, the jars or the class path. This module imports nothing of Penstock, so
that an image can hold the archive in a layer below our code.
"""

import os
import shutil
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

__all__ = ["ARCHIVE", "make", "settings"]


def _folder_of_pyspark() -> Path:
    found = find_spec("pyspark")  # which does not import it: many tasks never start Spark
    return Path(found.origin).parent if found is not None and found.origin else Path(sysconfig.get_path("purelib"))


_SPARK: Final = _folder_of_pyspark()
ARCHIVE: Final = _SPARK / "penstock-classes.jsa"
"""Path of the archive, whether or not it exists."""
_PATIENCE: Final = 600.0  # seconds; 10 suffice on an idle machine
_OPTIONS: Final = "spark.driver.defaultJavaOptions"
_QUIET: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def settings(options: str, archive: Path = ARCHIVE) -> dict[str, str]:
    """Return Spark's settings for a JVM with these options and, if there is one, with the archive."""
    home = os.environ.get("SPARK_HOME")
    if not archive.exists() or (home and Path(home).resolve() != _SPARK.resolve()):
        return {_OPTIONS: options}
    return {_OPTIONS: f'{options} "-XX:SharedArchiveFile={archive}"', **_class_path()}


def make(archive: Path = ARCHIVE) -> None:
    """Run a session that uses the common features, and let Java archive the loaded classes at exit.

    Raises:
        OSError: the folder cannot be written.
        RuntimeError: Java wrote no archive.
    """
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=archive.parent) as name:
        folder = Path(name)
        new = folder / archive.name
        options = (
            f'-XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-XX:ArchiveClassesAtExit={new}" -Xlog:cds=off,cds+dynamic=off'
        )
        places = {"spark.local.dir": str(folder), "spark.sql.warehouse.dir": (folder / "warehouse").as_uri()}
        _run({**_QUIET, **places, **_class_path(), _OPTIONS: options}, folder / "rows")
        if not new.exists():
            raise RuntimeError(f"Java wrote no archive of Spark's classes to {new}")
        new.chmod(0o644)
        new.rename(archive)


def _class_path() -> dict[str, str]:
    # Java compares class paths as strings, and Spark's own, `jars/*`, is in the order of the folder.
    return {"spark.driver.defaultExtraClassPath": ":".join(map(str, sorted((_SPARK / "jars").glob("*.jar"))))}


def _run(conf: dict[str, Any], rows: Path) -> None:
    from pyspark.sql import SparkSession

    # Otherwise Spark looks up the name of the host, which may not resolve during a build.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
    session.sparkContext.parallelize([0], 1).map(_same).collect()
    frame = session.createDataFrame([(1, "a")], "id int, name string").selectExpr("id + 1 as id", "name")
    frame.write.parquet(str(rows))
    session.read.parquet(str(rows)).where("id > 1").count()
    gateway = session.sparkContext._gateway  # noqa: SLF001 (no public way to the process)
    session.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()  # Java exits when it is closed
        gateway.proc.wait(_PATIENCE)


def _same(part: int) -> int:
    return part


def _is_due() -> bool:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not ARCHIVE.exists() or java is None:
        return True
    return ARCHIVE.stat().st_ctime < max(p.resolve().stat().st_ctime for p in (Path(java), _SPARK / "jars"))


if __name__ == "__main__" and _is_due():
    make()
