"""The SQL connectors on the cluster, and a PostgreSQL on this machine that pods reach."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from connectors.sql.tests.conftest import Database, Server

from penstock_cli.plugin.build import build

from .cluster import ROOT, Cluster
from .place import Place

__all__ = ["Database", "add_sql_plugin", "database_for_pods"]


@contextmanager
def database_for_pods() -> Iterator[Database]:
    """A PostgreSQL on this machine, until the block ends; its properties are those for pods of our own cluster."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-postgresql-"))
    server = Server(folder, listen="*")
    server.start()
    try:
        found = Database(server, "postgres")
        found.properties["connection.url"] = f"jdbc:postgresql://host.penstock.internal:{server.port}/postgres"
        yield found
    finally:
        server.stop()
        shutil.rmtree(folder)


def add_sql_plugin(kubernetes: Cluster, place: Place, folder: Path) -> str:
    """Build the SQL connectors' image, load it, and apply their PluginVersion; the version."""
    built = build(ROOT / "connectors" / "sql", "plugins.example/penstock-sql", folder)
    kubernetes.component("load", str(built.archive))
    manifest = yaml.safe_load((folder / "pluginversion.yaml").read_text())
    place.apply(manifest)
    return str(manifest["spec"]["version"])
