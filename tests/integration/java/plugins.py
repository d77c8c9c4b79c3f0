"""Java plugins from Maven Central, as Penstock and Kafka Connect take them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock_runtime.embedded.jars import KAFKA_VERSION
from penstock_runtime.java import find_java
from penstock_runtime.java_plugins.locations import plugin_locations
from penstock_runtime.maven import cache_folder, exclusively, fetch_archive, fetch_jars

__all__ = ["apache_connectors", "apicurio_converter", "apicurio_registry", "debezium", "folder_of"]

DEBEZIUM: Final = "3.6.1.Final"
_VERSIONS: Final = {"jdbc": "3.2.0.Final"}
"""The others are of Debezium's newest version."""
_DIGESTS: Final = {
    "mysql": "1dfd80c86e204406c5d886836da1f022e4955bc3900c0491b892c22c8b901af2",
    "jdbc": "79a2f5a02cd18d3c1a19f48b26e2e1170190676a1af26670238970d1ae136d05",
    "postgres": "408b00c073b27ddaa7af34684f60fcf5bbf6605de68a8662ec9462f2a88880d2",
}
_APICURIO: Final = "2.6.13.Final"
"""The last version that runs on Java 17."""
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


def apicurio_converter() -> Path:
    """A folder with the jars of Apicurio's Avro converter and what it needs, fetched once."""
    names = ("apicurio-registry-utils-converter", "apicurio-registry-serdes-avro-serde")
    return _apicurio("apicurio-converter", names, 'transitive="true"', "", f"{names[0]}-{_APICURIO}.jar")


def apicurio_registry() -> Path:
    """The archive of Apicurio's schema registry, for Java 17, fetched once."""
    name = "apicurio-registry-app"
    artifact = f'<artifact name="{name}" type="tar.gz" ext="tar.gz" m:classifier="all"/>'
    archive = f"{name}-{_APICURIO}-all.tar.gz"
    return _apicurio("apicurio-registry", (name,), 'transitive="false"', artifact, archive) / archive


def _apicurio(what: str, names: Sequence[str], transitive: str, artifact: str, wanted: str) -> Path:
    folder = cache_folder() / f"{what}-{_APICURIO}"
    libs = folder / "libs"
    if not libs.is_dir():
        with exclusively(folder):
            if not libs.is_dir():
                jars = [
                    f'<dependency org="io.apicurio" name="{name}" rev="{_APICURIO}" {transitive} '
                    f'conf="default->default">{artifact}</dependency>'
                    for name in names
                ]
                check = lambda libs: None if (libs / wanted).is_file() else f"{wanted} is missing"  # noqa: E731
                fetch_jars(find_java(), jars, libs, what=what, check=check)
    return libs


def _missing(libs: Path) -> str | None:
    missing = [name for name in _APACHE if not (libs / f"{name}-{KAFKA_VERSION}.jar").is_file()]
    return f"{', '.join(missing)} missing" if missing else None
