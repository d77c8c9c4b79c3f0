"""A PostgreSQL that pods reach, and the SQL connectors from the image that the project builds."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from connectors.sql.tests.conftest import Database, Server

from penstock_cli.plugin.build import build

from .cluster import ROOT
from .place import Place

__all__ = ["install_sql_plugin", "reachable_database"]


@contextmanager
def reachable_database() -> Iterator[Database]:
    """A PostgreSQL on this machine, which pods reach by the name that the cluster gives the machine."""
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


def install_sql_plugin(place: Place, folder: Path) -> str:
    """Build the image, load it into the node, and create its PluginVersion; the version."""
    built = build(ROOT / "connectors" / "sql", "plugins.example/penstock-sql", folder)
    place.cluster.component("load", str(built.archive))
    manifest: dict[str, Any] = yaml.safe_load((folder / "pluginversion.yaml").read_text())
    manifest["metadata"]["namespace"] = place.namespace
    place.cluster.apply(yaml.safe_dump(manifest))
    return str(manifest["spec"]["version"])
