"""Java plugins from Maven Central, as Penstock and Kafka Connect take them."""

from pathlib import Path
from typing import Final

from penstock_runtime.embedded.jars import KAFKA_VERSION
from penstock_runtime.java import find_java
from penstock_runtime.java_plugins.locations import plugin_locations
from penstock_runtime.maven import cache_folder, exclusively, fetch_archive, fetch_jars

__all__ = ["apache_connectors", "debezium", "folder_of"]

DEBEZIUM: Final = "3.6.1.Final"
_VERSIONS: Final = {"jdbc": "3.2.0.Final"}
"""The others are of Debezium's newest version."""
_DIGESTS: Final = {
    "mysql": "1dfd80c86e204406c5d886836da1f022e4955bc3900c0491b892c22c8b901af2",
    "jdbc": "79a2f5a02cd18d3c1a19f48b26e2e1170190676a1af26670238970d1ae136d05",
    "postgres": "408b00c073b27ddaa7af34684f60fcf5bbf6605de68a8662ec9462f2a88880d2",
}
_APACHE: Final = ("connect-file", "connect-mirror", "connect-mirror-client")


def debezium(database: str) -> Path:
    """The archive of Debezium's connector for `mysql` or `postgres`, or of its `jdbc` sink, fetched once."""
    name = f"debezium-connector-{database}"
    version = _VERSIONS.get(database, DEBEZIUM)
    return fetch_archive(find_java(), "io.debezium", name, version, _DIGESTS[database], print)


def folder_of(archive: Path) -> Path:
    """A folder for Kafka Connect's `plugin.path`, which takes no archives."""
    (location,) = plugin_locations([str(archive)])
    return location.parent


def apache_connectors() -> Path:
    """A folder with the jars of Kafka's own connectors for files and for mirroring, fetched once."""
    folder = cache_folder() / f"kafka-connectors-{KAFKA_VERSION}"
    libs = folder / "libs"
    if not libs.is_dir():
        with exclusively(folder):
            if not libs.is_dir():
                jars = [
                    f'<dependency org="org.apache.kafka" name="{name}" rev="{KAFKA_VERSION}" transitive="false" '
                    'conf="default->default"/>'
                    for name in _APACHE
                ]
                fetch_jars(find_java(), jars, libs, what="Kafka's own connectors", check=_missing)
    return libs


def _missing(libs: Path) -> str | None:
    missing = [name for name in _APACHE if not (libs / f"{name}-{KAFKA_VERSION}.jar").is_file()]
    return f"{', '.join(missing)} missing" if missing else None
