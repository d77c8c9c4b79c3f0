"""Java plugins from Maven Central, as Penstock and Kafka Connect take them."""

import hashlib
from pathlib import Path
from typing import Final

from penstock_cli.embedded.jars import KAFKA_VERSION
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.locations import plugin_locations
from penstock_runtime.maven import cache_folder, exclusively, fetch_archive, fetch_jars

__all__ = [
    "DEBEZIUM",
    "EARLIER_DEBEZIUM",
    "apache_connectors",
    "apicurio_converter",
    "debezium",
    "debezium_with_old_modes",
    "earlier_debezium",
    "folder_of",
    "jars_of",
    "mongodb",
]

DEBEZIUM: Final = "3.6.1.Final"
EARLIER_DEBEZIUM: Final = "3.5.0.Final"
_OLD_MODES: Final = "3.1.3.Final"
_VERSIONS: Final = {"jdbc": "3.2.0.Final"}
"""The others are of Debezium's newest version."""
_DIGESTS: Final = {
    "mysql": "1dfd80c86e204406c5d886836da1f022e4955bc3900c0491b892c22c8b901af2",
    "jdbc": "79a2f5a02cd18d3c1a19f48b26e2e1170190676a1af26670238970d1ae136d05",
    "postgres": "408b00c073b27ddaa7af34684f60fcf5bbf6605de68a8662ec9462f2a88880d2",
}
_EARLIER_DIGESTS: Final = {"postgres": "cf32d3dbc52ad89ce4f539173f4fe7ca62485f64ce218d9f674bfd24be96cd21"}
_APICURIO: Final = "2.6.13.Final"
_APACHE: Final = ("connect-file", "connect-mirror", "connect-mirror-client")


def debezium(database: str) -> Path:
    """The archive of Debezium's connector for `mysql` or `postgres`, or of its `jdbc` sink, fetched once."""
    name = f"debezium-connector-{database}"
    version = _VERSIONS.get(database, DEBEZIUM)
    return fetch_archive(find_java(), "io.debezium", name, version, _DIGESTS[database], print)


def earlier_debezium(database: str) -> Path:
    """The archive of an earlier version of Debezium's connector for `postgres`, fetched once."""
    name = f"debezium-connector-{database}"
    return fetch_archive(find_java(), "io.debezium", name, EARLIER_DEBEZIUM, _EARLIER_DIGESTS[database], print)


def debezium_with_old_modes() -> Path:
    """A folder with the jars of Debezium's transforms in the last version with `delete.handling.mode`, fetched once."""
    jars = [
        f'<dependency org="io.debezium" name="{name}" rev="{_OLD_MODES}" transitive="false" conf="default->default"/>'
        for name in ("debezium-core", "debezium-api")
    ]
    return jars_of(
        f"debezium-core-{_OLD_MODES}", jars, "b951a88479413b6ab99f7cb8476903a4b244a352a2269c54b52856e85081053f"
    )


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
    jars = [
        f'<dependency org="io.apicurio" name="{name}" rev="{_APICURIO}" transitive="true" conf="default->default"/>'
        for name in ("apicurio-registry-utils-converter", "apicurio-registry-serdes-avro-serde")
    ]
    digest = "6f7ad82d498e57ed95e2f066d3199e30a7f253ce0ca0faf60d259a343ad60a69"
    return jars_of(f"apicurio-converter-{_APICURIO}", jars, digest)


def mongodb() -> Path:
    """A folder with the jar of MongoDB's connectors that holds all it needs, fetched once."""
    jar = (
        '<dependency org="org.mongodb.kafka" name="mongo-kafka-connect" rev="2.0.1" transitive="false" '
        'conf="default->default"><artifact name="mongo-kafka-connect" type="jar" ext="jar" m:classifier="all"/>'
        "</dependency>"
    )
    digest = "d31c9a74f5a4243c3b7aa21a8254f967989249a2c76a2c570cdc19ac68fa9d7f"
    return jars_of("mongo-kafka-connect-2.0.1", [jar], digest)


def jars_of(name: str, dependencies: list[str], sha256: str) -> Path:
    """A folder of jars or archives, fetched once.

    Args:
        name: name of the folder in the cache.
        dependencies: as `fetch_jars` takes them.
        sha256: of the lines `<SHA-256> <file name>` of all files, by name.
    """
    folder = cache_folder() / "jars" / name
    libs = folder / "libs"

    def wrong(libs: Path) -> str | None:
        jars = sorted(libs.iterdir())
        lines = "".join(f"{hashlib.sha256(jar.read_bytes()).hexdigest()} {jar.name}\n" for jar in jars)
        found = hashlib.sha256(lines.encode()).hexdigest()
        return None if found == sha256 else f"the list of its {len(jars)} files has the SHA-256 {found}, not {sha256}"

    if not libs.is_dir():
        with exclusively(folder):
            if not libs.is_dir():
                fetch_jars(find_java(), dependencies, libs, what=name, check=wrong)
    return libs


def _missing(libs: Path) -> str | None:
    missing = [name for name in _APACHE if not (libs / f"{name}-{KAFKA_VERSION}.jar").is_file()]
    return f"{', '.join(missing)} missing" if missing else None
