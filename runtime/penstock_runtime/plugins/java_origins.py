"""Say where to get well-known Java plugins, for messages about a missing class. Pure."""

import re
from collections.abc import Iterable
from typing import Final

from penstock.config import nearest
from penstock_model.connect.plugin_names import is_built_in
from penstock_runtime.plugins.java_projects import class_names, project_of

__all__ = ["how_to_get", "is_java_name", "is_known", "maven_artifact", "maven_file", "origin", "similar_class"]

_DEBEZIUM: Final = "io.debezium."
_DEBEZIUM_CONNECTORS: Final = {"postgresql": "postgres", "db2as400": "ibmi"}
"""Artifacts whose name differs from the package."""
_MAVEN_CENTRAL: Final = "https://repo1.maven.org/maven2"
_JAVA_NAME: Final = re.compile(r"(com|org|net|info|dev|app|cloud|edu|gov|tech|[a-z]{2})\.([\w]+\.)+[A-Z][\w$]*")
_OF_PENSTOCK: Final = {
    "io.confluent.kafka.connect.datagen.DatagenConnector": "Penstock's built-in Datagen generates test records without it.",
}
"""Alternatives to a class, as sentences."""
_RENAMED: Final = {
    "io.debezium.transforms.UnwrapFromEnvelope": "io.debezium.transforms.ExtractNewRecordState",
    "io.debezium.connector.mongodb.transforms.UnwrapFromMongoDbEnvelope": (
        "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
    ),
}
"""New names of classes that Debezium renamed in 0.10 and removed in 1.2."""


def is_java_name(name: str) -> bool:
    """Return whether a name has the form of a Java class name: it begins with a domain, such as `com.acme.Sink`."""
    return _JAVA_NAME.fullmatch(name) is not None


def is_known(class_name: str) -> bool:
    """Return whether a name belongs to a class of a well-known Java plugin."""
    return project_of(class_name) is not None


def origin(class_name: str) -> str:
    """Return where to get the plugin of a class; empty if it is not well known."""
    project = project_of(class_name)
    return "" if project is None else project.archive


def maven_artifact(class_name: str) -> str:
    """Return the artifact in Maven Central that holds a class; empty if it is not known."""
    package, dot, _ = class_name.removeprefix(f"{_DEBEZIUM}connector.").partition(".")
    if class_name.startswith(f"{_DEBEZIUM}connector.") and dot:
        return f"debezium-connector-{_DEBEZIUM_CONNECTORS.get(package, package)}"
    return "mongo-kafka-connect" if class_name.startswith("com.mongodb.kafka.") else ""


def maven_file(class_name: str, version: str) -> str:
    """Return the URL of the archive in Maven Central that holds a class in a version; empty if it is not known."""
    artifact = maven_artifact(class_name)
    if not artifact:
        return ""
    group, ending = (
        ("org/mongodb/kafka", "all.jar") if artifact.startswith("mongo") else ("io/debezium", "plugin.tar.gz")
    )
    return f"{_MAVEN_CENTRAL}/{group}/{artifact}/{version}/{artifact}-{version}-{ending}"


def similar_class(class_name: str, here: Iterable[str]) -> str | None:
    """Return the class that a misspelled full name most likely means; None if there is none, or the name is correct.

    A known class with the same simple name in another package is never suggested, since it does something else.

    Args:
        class_name: name without `$Key` or `$Value`.
        here: names of Java classes that Penstock implements.
    """
    known = {*here, *class_names()}
    near = nearest(class_name, known)
    if near is None or class_name in known or _domain(near) != _domain(class_name):
        return None
    if _simple(near) == _simple(class_name):  # the package is misspelled, or is another one
        return near if project_of(class_name) is None else None
    return near if nearest(_simple(class_name), [_simple(near)]) else None


def _simple(class_name: str) -> str:
    return class_name.rpartition(".")[2]


def _domain(class_name: str) -> list[str]:
    return class_name.split(".")[:2]


def how_to_get(class_name: str) -> str:
    """Return a sentence that says where to get a Java class and how to add it; empty if this is not a Java class."""
    if "." not in class_name or ":" in class_name or not class_name.rpartition(".")[2][:1].isupper():
        return ""
    if (new := _RENAMED.get(class_name)) is not None:
        changed = f"Debezium renamed it in 0.10 and removed it in 1.2: write {new}, and compare its properties."
        return f" {changed}" if is_built_in("transform", new) else f" {changed}{how_to_get(new)}"
    project = project_of(class_name)
    if project is None:
        start = "Get" if is_java_name(class_name) else "If it is a Java class, get"
        what = f"{start} its plugin's archive or jars"
    else:
        what = f"It is part of {project.name}: get {project.archive}"
    instead = _OF_PENSTOCK.get(class_name)
    return (
        f" {what}; pass the archive or its folder with --plugin-path, or build an image of it with `penstock plugin build`."
        f"{f' {instead}' if instead else ''}"
    )
