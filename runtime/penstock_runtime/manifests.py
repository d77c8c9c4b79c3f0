"""Reads manifests for `penstock run`: the same YAML that `kubectl apply` takes, from files or standard input."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from penstock import ConfigError, Problem
from penstock.config import nearest
from penstock.resources import API_VERSION, Connector
from penstock_runtime.yaml_text import Document, documents

__all__ = ["Manifest", "read_manifests"]

_LATER: Final = ("TopicCreationPolicy", "PluginVersion")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A connector and where it was written."""

    connector: Connector
    where: str


def read_manifests(files: Iterable[str | Path], stdin: TextIO | None = None) -> tuple[Manifest, ...]:
    """The connectors of these files, in order; `-` is standard input.

    Raises:
        ConfigError: every problem of every file at once; each names file, document, resource and field.
    """
    found: list[Manifest] = []
    problems: list[Problem] = []
    for file in files:
        try:
            name, text = _text(file, stdin or sys.stdin)
        except ConfigError as e:
            problems += e.problems
            continue
        problems += _read(name, text, found)
    problems += _conflicts(found)
    if not found and not problems:
        problems.append(Problem("", "no Connector was found; give files that hold one"))
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def _text(file: str | Path, stdin: TextIO) -> tuple[str, str]:
    if str(file) == "-":
        return "standard input", stdin.read()
    try:
        return str(file), Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(Problem(str(file), "is not UTF-8 text")) from None
    except IsADirectoryError:
        raise ConfigError(Problem(str(file), "is a directory; name its files")) from None
    except OSError as e:
        raise ConfigError(Problem(str(file), f"cannot be read: {e.strerror}")) from None


def _read(file: str, text: str, found: list[Manifest]) -> Iterator[Problem]:
    try:
        for document in documents(text):
            where = f"{file}, document {document.number}"
            try:
                found += [Manifest(c, f"{where}, Connector {c.connect_name}") for c in _connectors(document.value)]
            except ConfigError as e:
                named = f"{where}{_resource(document)}"
                yield from (Problem(f"{named}: {p.property}" if p.property else named, p.message) for p in e.problems)
    except ConfigError as e:
        yield from (Problem(f"{file}, {p.property}" if p.property else file, p.message) for p in e.problems)


def _connectors(value: Any) -> Iterator[Connector]:
    if not isinstance(value, dict):
        raise ConfigError("must be a mapping with apiVersion, kind, metadata and spec")
    kind = value.get("kind")
    if kind == "List" and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _connectors(item)
        return
    if kind in _LATER:
        raise ConfigError(Problem("kind", f"{kind} is not supported by `penstock run` yet; remove the document"))
    if kind != "Connector":
        near = nearest(str(kind), ["Connector"])
        hint = f"did you mean {near}?" if near else "`penstock run` takes Connector"
        raise ConfigError(Problem("kind", f"is missing; {hint}" if kind is None else f"{kind} is not known; {hint}"))
    if value.get("apiVersion") is None:
        raise ConfigError(Problem("apiVersion", f"is missing; write {API_VERSION}"))
    yield Connector.read(value)


def _resource(document: Document) -> str:
    value = document.value
    if not isinstance(value, dict):
        return f" (line {document.line})"
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f" (line {document.line}), {value.get('kind') or 'resource'} {name or 'without a name'}"


def _conflicts(found: list[Manifest]) -> Iterator[Problem]:
    first: dict[str, Manifest] = {}
    for manifest in found:
        name = manifest.connector.connect_name
        if name in first:
            yield Problem(
                manifest.where,
                f"has the same name in Kafka ({name}) as {first[name].where}; change metadata.name, metadata.namespace "
                f"or spec.connectName",
            )
        first.setdefault(name, manifest)
