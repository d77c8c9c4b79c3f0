"""Kafka Connect 4.3.1 standalone, and Debezium's JDBC sink for it: jars, fetched once into the cache, and the command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock_cli.embedded.jars import KAFKA_VERSION
from penstock_runtime.java_home import Java
from penstock_runtime.maven import cache_folder, exclusively, fetch_jars

__all__ = ["DEBEZIUM", "connect_command", "connect_jars", "debezium_folder"]

_MODULES: Final = ("connect-runtime", "connect-file", "connect-transforms", "connect-json")
DEBEZIUM: Final = "3.2.0.Final"
"""The version of its JDBC sink."""

_CONNECT: Final = "\n".join(
    [
        *(
            f'<dependency org="org.apache.kafka" name="{m}" rev="{KAFKA_VERSION}" conf="default->default"/>'
            for m in _MODULES
        ),
        '<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default->default"/>',
    ]
)
# Without what Kafka Connect brings itself, as Debezium's own archive, and without drivers for other databases.
_DEBEZIUM: Final = f"""\
<dependency org="io.debezium" name="debezium-connector-jdbc" rev="{DEBEZIUM}" conf="default->default">
  <exclude org="com.microsoft.sqlserver"/> <exclude org="com.mysql"/> <exclude org="com.oracle.database.jdbc"/>
  <exclude org="org.mariadb.jdbc"/> <exclude org="com.fasterxml.jackson.core"/>
</dependency>"""
# REST on any free port: standalone always serves it. Clients may be overridden by default. The rest is as it comes.
_WORKER: Final = """\
bootstrap.servers={servers}
listeners=http://127.0.0.1:0
offset.storage.file.filename={folder}/connect.offsets
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
plugin.path={plugins}
plugin.discovery=service_load
"""
_LOG4J: Final = """\
<Configuration status="WARN" shutdownHook="disable">
  <Appenders><Console name="out"><PatternLayout pattern="%d{ISO8601} %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


def connect_jars(java: Java) -> Path:
    """The folder with Kafka Connect's jars, fetched first when the cache has none.

    Raises:
        ConnectError: they cannot be fetched.
    """
    folder = cache_folder() / f"kafka-connect-{KAFKA_VERSION}"
    return _fetched(java, folder, f"Kafka Connect {KAFKA_VERSION}", _CONNECT)


def debezium_folder(java: Java) -> Path:
    """A folder for `plugin.path` with Debezium's JDBC sink and PostgreSQL's driver, fetched first when the cache has none.

    Raises:
        ConnectError: they cannot be fetched.
    """
    folder = cache_folder() / f"debezium-jdbc-{DEBEZIUM}"
    return _fetched(java, folder, f"Debezium's JDBC sink {DEBEZIUM}", _DEBEZIUM).parent


def connect_command(
    java: Java,
    folder: Path,
    *,
    servers: str,
    connectors: Mapping[str, Mapping[str, str]],
    plugins: Path | None = None,
    heap: str = "1g",
) -> list[str]:
    """Write what Kafka Connect standalone reads, and give its command; `plugins` has folders of plugins of others."""
    libs = connect_jars(java)
    path = f"{libs},{plugins}" if plugins else libs
    (folder / "worker.properties").write_text(_WORKER.format(servers=servers, folder=folder, plugins=path))
    for name, connector in connectors.items():
        lines = {"name": name, "tasks.max": "1", **connector}
        (folder / f"{name}.properties").write_text("".join(f"{k}={v}\n" for k, v in lines.items()))
    (folder / "log4j2.xml").write_text(_LOG4J)
    return [
        str(java.executable),
        f"-Xmx{heap}",
        "-Dlog4j2.configurationFile=log4j2.xml",
        "-cp",
        f"{libs}/*",
        "org.apache.kafka.connect.cli.ConnectStandalone",
        "worker.properties",
        *(f"{name}.properties" for name in connectors),
    ]


def _fetched(java: Java, folder: Path, what: str, dependencies: str) -> Path:
    libs = folder / "libs"
    if not libs.exists():
        with exclusively(folder):
            if not libs.exists():
                print(f"Fetching {what} (once)...", flush=True)
                fetch_jars(java, [dependencies], libs, what=what, check=_missing)
    return libs


def _missing(libs: Path) -> str | None:
    return None if any(libs.glob("*.jar")) else "it brought no jar"
