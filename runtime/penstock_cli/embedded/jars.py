"""Kafka's jars, in the cache."""

from collections.abc import Callable
from pathlib import Path

from penstock.errors import ConnectError
from penstock_runtime.java import Java
from penstock_runtime.maven import cache_folder, exclusively, fetch_jars

__all__ = ["KAFKA_VERSION", "kafka_folder", "kafka_jars"]

KAFKA_VERSION = "4.3.1"
_NEEDED = (f"kafka_2.13-{KAFKA_VERSION}.jar", f"kafka-clients-{KAFKA_VERSION}.jar")
# Kafka comes without a binding for its logging interface; the one for its log4j version makes its log readable.
_DEPENDENCIES = [
    f'<dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA_VERSION}" conf="default->default"/>',
    '<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default->default"/>',
]


def kafka_folder() -> Path:
    """Return Kafka's folder in the cache: its jars in `libs`, and files made from them."""
    return cache_folder() / f"kafka-{KAFKA_VERSION}"


def kafka_jars(java: Java, say: Callable[[str], None]) -> tuple[Path, ...]:
    """Return Kafka's jars, fetched first if the cache has none.

    Args:
        java: runs Ivy.
        say: called with a line about each slow step.

    Raises:
        ConnectError: they cannot be fetched; the message names the remedy.
    """
    folder = kafka_folder()
    libs = folder / "libs"
    if _missing(libs) is not None:
        try:
            with exclusively(folder):
                if _missing(libs) is not None:
                    say(f"Fetching Kafka {KAFKA_VERSION} (44 MB, once)...")
                    fetch_jars(
                        java,
                        _DEPENDENCIES,
                        libs,
                        what=f"Kafka {KAFKA_VERSION}",
                        check=_missing,
                        remedy=", or use a broker of yours with --bootstrap-servers",
                    )
        except OSError as error:
            raise ConnectError(
                f"Kafka {KAFKA_VERSION} cannot be kept in {folder} ({error}): make room there, or let PENSTOCK_CACHE "
                "name a folder that can be written"
            ) from error
    # Java checks an archive of classes against the class path, so the order is fixed.
    return tuple(sorted(libs.glob("*.jar")))


def _missing(libs: Path) -> str | None:
    missing = [name for name in _NEEDED if not (libs / name).is_file()]
    return f"{', '.join(missing)} missing" if missing else None
