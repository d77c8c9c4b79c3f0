"""A REST catalog of Apache Iceberg on this machine, with tables in a folder."""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyspark

from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.jars import COMPILER, fetched_jars

from ...ports import free_port
from ...running import until
from ..plugins import jars_of

__all__ = ["SINK", "Catalog", "sink_plugin", "started_catalog"]

SINK: Final = "org.apache.iceberg.connect.IcebergSinkConnector"
_VERSION: Final = "1.12.0"
_CATALOG: Final = "1.11.0"
_FILES: Final = "org.apache.iceberg.hadoop.HadoopFileIO"
_ONE: Final = 'conf="default->default"'


def _sink_jars() -> list[Path]:
    """The jars of the sink, of Parquet's files and of Hadoop's file systems, which Spark has."""
    sink = f'<dependency org="org.apache.iceberg" name="iceberg-kafka-connect" rev="{_VERSION}" {_ONE}/>'
    parquet = (
        f'<dependency org="org.apache.iceberg" name="iceberg-parquet" rev="{_VERSION}" transitive="false" {_ONE}/>'
    )
    of_sink = jars_of(
        f"iceberg-sink-{_VERSION}", [sink], "2637d64c0b4d5ddd3f77debfc0a24a92d72108ede30d2c9af1391f6f8334fa6f"
    )
    of_parquet = jars_of(
        f"iceberg-parquet-{_VERSION}", [parquet], "54ad372bad232edae393b852d3eeff404fe970ecaac0243356dfd97277445219"
    )
    return [*of_sink.iterdir(), *of_parquet.iterdir(), *_hadoop()]


def _hadoop() -> list[Path]:
    return sorted(Path(pyspark.__file__).parent.glob("jars/hadoop-client-*.jar"))


def _catalog_jars() -> list[Path]:
    fixtures = '<artifact name="iceberg-open-api" type="jar" ext="jar" m:classifier="test-fixtures"/>'
    core = '<artifact name="iceberg-core" type="jar" ext="jar"/>'
    tests = '<artifact name="iceberg-core" type="jar" ext="jar" m:classifier="tests"/>'
    iceberg = f'<dependency org="org.apache.iceberg" rev="{_CATALOG}" {_ONE}'
    jetty = f'<dependency rev="12.1.5" {_ONE}'
    jars = [
        f'{iceberg} name="iceberg-open-api" transitive="false">{fixtures}</dependency>',
        f'{iceberg} name="iceberg-core">{core}{tests}</dependency>',
        f'{jetty} org="org.eclipse.jetty.ee10" name="jetty-ee10-servlet"/>',
        f'{jetty} org="org.eclipse.jetty.compression" name="jetty-compression-server"/>',
        f'{jetty} org="org.eclipse.jetty.compression" name="jetty-compression-gzip"/>',
        f'<dependency org="org.xerial" name="sqlite-jdbc" rev="3.50.3.0" {_ONE}/>',
    ]
    digest = "35d83d4e8da2197a706bd5c7c01a3750c18d8ed9ae33deeb852831c6fe2b32c6"
    return [*jars_of(f"iceberg-rest-catalog-{_CATALOG}", jars, digest).iterdir(), *_hadoop()]


def sink_plugin(folder: Path) -> Path:
    """Make a plugin path with the sink in it."""
    plugin = folder / "iceberg"
    plugin.mkdir(parents=True)
    for jar in _sink_jars():
        shutil.copy(jar, plugin)
    return folder


class Catalog:
    """A running catalog with the namespace `shop`.

    Attributes:
        url: where it answers.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder

    def settings(self, table: str) -> dict[str, str]:
        """Return properties of a sink that writes to this table, and commits every two seconds."""
        return {
            "iceberg.tables": table,
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": self.url,
            "iceberg.catalog.io-impl": _FILES,
            "iceberg.control.commit.interval-ms": "2000",
        }

    def ask(self, path: str, body: object | None = None) -> Any:
        """Ask its API; None: there is no such thing."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as e:
            if e.code == 404:
                return None
            raise

    def count(self, table: str) -> int:
        """Count the rows of a table, as its last snapshot has them."""
        namespace, name = table.split(".")
        found = self.ask(f"/v1/namespaces/{namespace}/tables/{name}")
        snapshots = found["metadata"].get("snapshots", []) if found else []
        last = max(snapshots, key=lambda each: int(each["sequence-number"]), default=None)
        return 0 if last is None else int(last["summary"]["total-records"])

    def rows(self, table: str) -> list[str]:
        """Read the rows of a table, sorted: a text each."""
        java = find_java()
        jars = ":".join(map(str, _sink_jars()))
        classes = self._folder / "reader"
        if not classes.exists():
            compiler = fetched_jars(java, print) / COMPILER.file
            source = Path(__file__).with_name("ReadTable.java")
            command = [str(java.executable), "-jar", str(compiler), "--release", "17", "-warn:none", "-cp", jars]
            subprocess.run([*command, "-d", str(classes), str(source)], check=True)
        command = [str(java.executable), "-cp", f"{classes}:{jars}", "ReadTable", self.url, table]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted(done.stdout.splitlines())


@contextmanager
def started_catalog(folder: Path) -> Iterator[Catalog]:
    """Run a catalog, with its tables in a folder."""
    port = free_port()
    env = {
        **os.environ,
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
        "CATALOG_WAREHOUSE": str(folder / "warehouse"),
        "CATALOG_IO__IMPL": _FILES,
        "CATALOG_REST_PORT": str(port),
    }
    command = [str(find_java().executable), "-Xmx128m", "-cp", ":".join(map(str, _catalog_jars()))]
    with (folder / "catalog.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "org.apache.iceberg.rest.RESTCatalogServer"], env=env, stdout=log, stderr=log
        )
    try:
        catalog = Catalog(f"http://127.0.0.1:{port}", folder)

        def answers() -> bool:
            assert process.poll() is None, (folder / "catalog.log").read_text()
            try:
                catalog.ask("/v1/namespaces", {"namespace": ["shop"]})
            except OSError:  # of urllib, and a timeout
                return False
            return True

        until(answers, what="the catalog answers")
        yield catalog
    finally:
        process.kill()
        process.wait()
