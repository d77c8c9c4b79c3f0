"""Jars of the plugin host: Apache Kafka's classes for plugins and their dependencies, pinned by checksum."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.java_home import Java
from penstock_runtime.maven import Jar, cache_folder, exclusively, fetch_pinned

__all__ = ["COMPILER", "JARS", "fetched_jars", "host_folder"]


JARS: Final = (
    Jar(
        "io.github.classgraph",
        "classgraph",
        "4.8.179",
        "16558357f234052370109127a45d69a9bd6d8646925594792634486dc48b159d",
    ),
    Jar("org.apache.kafka", "connect-api", "4.3.1", "5ce6158d453d2d84ab3509260fff872c67fb532a51519da6acafc6835bc48cfe"),
    Jar(
        "org.apache.kafka", "connect-json", "4.3.1", "ebd6d4900eb6835f30c6ce74b5f6d4a4fdc19e0a4a1de8da2f4463ea3ef20e41"
    ),
    Jar(
        "org.apache.kafka",
        "connect-runtime",
        "4.3.1",
        "9df3d2f78f8a1740af358dd78ccdf1396559223e0cfbf1a697ab9363dead6175",
    ),
    Jar(
        "org.apache.kafka",
        "connect-transforms",
        "4.3.1",
        "060bb300977304b53f9aebe79a3298c06a3d4240cb58b01e06eaa75abf4168eb",
    ),
    Jar(
        "com.fasterxml.jackson.core",
        "jackson-annotations",
        "2.21",
        "53ca085f4a150f703f49e1aabd935bd03b43e1ea3d55d135438292af22cef56b",
    ),
    Jar(
        "com.fasterxml.jackson.core",
        "jackson-core",
        "2.21.2",
        "12e8655b100267b44d0f14d01b1f5082a5105e616174dc4307be1a761e92407b",
    ),
    Jar(
        "com.fasterxml.jackson.core",
        "jackson-databind",
        "2.21.2",
        "8c982f01f148d805f0aaac2339011244757e0df7c6ff8951f2fa3f433b8ed849",
    ),
    Jar(
        "com.fasterxml.jackson.datatype",
        "jackson-datatype-jdk8",
        "2.21.2",
        "e581bbf3fc5622d16b57366dd41e10fc56921fb202879de2ef487f87dd9b30e7",
    ),
    Jar(
        "com.fasterxml.jackson.module",
        "jackson-module-blackbird",
        "2.21.2",
        "5ed62cdcd357a24b73de9280e167aa014d7b4c17d04823844d482274cf07097e",
    ),
    Jar(
        "jakarta.ws.rs",
        "jakarta.ws.rs-api",
        "3.1.0",
        "6b3b3628b8b4aedda0d24c3354335e985497d8ef3c510b8f3028e920d5b8663d",
    ),
    Jar(
        "org.apache.kafka", "kafka-clients", "4.3.1", "52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36"
    ),
    Jar(
        "org.apache.logging.log4j",
        "log4j-api",
        "2.25.4",
        "c4b642a7f047275215de117e0e3847eb2c7711d84a0aa7433e7b3c096daf341d",
    ),
    Jar(
        "org.apache.logging.log4j",
        "log4j-core",
        "2.25.4",
        "10fee2c0485d54fa44ee75d314f6295508f7b932281873db61a91b88073200e6",
    ),
    Jar(
        "org.apache.logging.log4j",
        "log4j-slf4j-impl",
        "2.25.4",
        "7ac68a0afcc83d54f48d116d79370a43f0a2a6b71b5c1d6dda943bb6a95ddbaa",
    ),
    Jar("at.yawk.lz4", "lz4-java", "1.10.2", "252dabd586d22149a31661a8afc1a50747714eb1a298bd4a6e780c8c91a13866"),
    Jar(
        "org.apache.maven",
        "maven-artifact",
        "3.9.15",
        "f154c31f15ac97c37b9cdf9f8d63cde5053c470d2daf54df7dfd3bb3c9e501c6",
    ),
    Jar("org.msgpack", "msgpack-core", "0.9.11", "031b780833e8766fecb2af629bc04f2eb5d2c2b1e17475b9b6b8a81f932aea31"),
    Jar(
        "org.codehaus.plexus",
        "plexus-utils",
        "3.6.1",
        "05a63effd67e2d6b9d610cc82e2bd7473289d34802e57a529b28110f28af5679",
    ),
    Jar("org.slf4j", "slf4j-api", "1.7.36", "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0"),
    Jar(
        "org.xerial.snappy",
        "snappy-java",
        "1.1.10.7",
        "4c766cb3f855415ee734b2392949a0b6f12a60879334a74518deaf6270d32e36",
    ),
    Jar("com.github.luben", "zstd-jni", "1.5.6-10", "b6c3237e24b8252a5a9c3a0e1ae30ef8f323412e74bd358548b7a9e527d676df"),
)
COMPILER: Final = Jar(
    "org.eclipse.jdt", "ecj", "3.33.0", "f7686c4960cf70c2ebc5c500a73a8cfc04541b730c18f1c5c21329889b137f45"
)
"""Eclipse's compiler, which needs only a Java runtime."""

_ALL: Final = (*JARS, COMPILER)
_KEY: Final = hashlib.sha256("".join(j.sha256 for j in _ALL).encode()).hexdigest()[:12]


def host_folder() -> Path:
    """Return the cache folder of the host's jars (`libs`) and of the compiled host."""
    return cache_folder() / f"java-host-{_KEY}"


def fetched_jars(java: Java, say: Callable[[str], None]) -> Path:
    """Return the folder with the host's jars and its compiler. Fetches them if they are not cached.

    Args:
        java: Java that runs Ivy.
        say: called with a line about a lengthy step.

    Raises:
        ConnectError: the jars cannot be fetched, or a file does not match its checksum; the message says what to do.
    """
    folder = host_folder()
    libs = folder / "libs"
    if not libs.is_dir():
        try:
            with exclusively(folder):
                if not libs.is_dir():
                    say("Fetching the jars that run Java connectors (30 MB, once)...")
                    fetch_pinned(java, _ALL, libs, what="the jars that run Java connectors")
        except OSError as error:
            raise ConnectError(
                f"cannot store the jars that run Java connectors in {folder}: {error}; free space there, or set "
                "PENSTOCK_CACHE to a writable folder"
            ) from error
    return libs
