"""Reader of manifests for `penstock run`: the YAML that `kubectl apply` takes, from files or standard input.

A mistake in one file, document or field does not hide those in others: every manifest is read as far as possible, and its
problems are reported when its connector is planned.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TextIO

from penstock import ConfigError, Problem
from penstock.config import nearest
from penstock_cli.manifests import connect_forms
from penstock_cli.manifests.yaml_text import Document, documents
from penstock_java_compat.properties import parse_properties
from penstock_model.resources.connector import API_VERSION, UNNAMED, Connector, Reading

__all__ = ["Manifest", "Manifests", "chosen", "read_manifests", "read_resources"]

_TO_IMPORT: Final[Mapping[str, Sequence[str]]] = {
    "kafka.strimzi.io": ("KafkaConnector", "KafkaConnect"),
    "eventstreams.ibm.com": ("KafkaConnector", "KafkaConnect"),
    "platform.confluent.io": ("Connector",),
}
"""Kinds of other operators, by API group."""
_OTHER_KINDS: Final = ("PluginVersion", "TopicCreationPolicy")
"""Penstock's other kinds."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One resource of a file that should be a connector.

    Attributes:
        where: file, document and resource, for messages.
        read: the connector, or the error if it cannot be read.
    """

    where: str
    read: Connector | ConfigError

    @property
    def connector(self) -> Connector:
        """Return the connector, as far as it can be read. Its `reading` contains the problems, for which a plan rejects it.

        Raises:
            ConfigError: the resource cannot be read as a connector.
        """
        if isinstance(self.read, ConfigError):
            raise self.read
        return self.read


@dataclass(frozen=True, slots=True)
class Manifests:
    """Manifests of files.

    Attributes:
        connectors: the resources that should be connectors, in order.
        skipped: how many resources of each other kind there are.
    """

    connectors: tuple[Manifest, ...]
    skipped: Mapping[str, int]

    @property
    def note(self) -> str | None:
        """Return a sentence about the skipped resources; None: there are none."""
        if not self.skipped:
            return None
        number = sum(self.skipped.values())
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.skipped.items()))
        return f"skipped {number} resource{'s' if number > 1 else ''} of other kinds: {kinds}"


def read_manifests(files: Iterable[str | Path], stdin: TextIO | None = None) -> Manifests:
    """Return the manifests in these files; `-` is standard input. Files may contain resources of other kinds.

    Raises:
        ConfigError: there is no connector in them.
    """
    found: list[Manifest] = []
    skipped = Counter[str]()
    for file in files:
        try:
            name, text = _text(file, stdin or sys.stdin)
        except ConfigError as e:
            found.append(Manifest("command line", e))
        else:
            found += _manifests(name, text, skipped)
    read = Manifests(tuple(_with_unique_names(found)), skipped)
    if not found:
        raise ConfigError(
            f"cannot find a Connector; pass files that contain one{f' ({read.note})' if read.note else ''}"
        )
    return read


def read_resources(file: str | Path, *kinds: str, stdin: TextIO | None = None) -> list[Mapping[str, Any]]:
    """Return the resources of these kinds in a file of manifests, or in the output of `kubectl get --output=yaml`.

    Args:
        file: its name; `-` is standard input.
        kinds: kinds of the resources.
        stdin: read instead of the process's standard input.

    Raises:
        ConfigError: the file has resources of other kinds, or cannot be read.
    """
    name, text = _text(file, stdin or sys.stdin)
    found: list[Mapping[str, Any]] = []
    problems: list[Problem] = []
    for document in documents(text):
        problems += (Problem(f"{name}: {p.property}", p.message) for p in document.problems)
        for value in _items(document.value) if document.value is not None else ():
            if isinstance(value, dict) and value.get("kind") in kinds:
                found.append(value)
            else:
                other = value.get("kind") if isinstance(value, dict) else None
                instead = f", not {other}" if other else ""
                problems.append(Problem(f"{name}: kind", f"must be {' or '.join(kinds)}, or a List of those{instead}"))
    if problems:
        raise ConfigError(problems)
    return found


def chosen(manifests: Sequence[Manifest], name: str | None) -> Manifest:
    """Return the manifest of the connector of that name, or the only one.

    Raises:
        ConfigError: there is none, or there are several. The message names them.
    """
    readable = [(m, m.read) for m in manifests if not isinstance(m.read, ConfigError)]
    if name is None:
        if len(manifests) == 1:
            return manifests[0]
        wrong = [Problem(f"{m.where}: {p.property}", p.message) for m in manifests for p in _problems(m)]
        names = ", ".join(c.connect_name for _, c in readable)
        raise ConfigError(
            [Problem("--connector", f"is missing: there are several connectors: {names}; name one"), *wrong]
        )
    of_name = [m for m, c in readable if name in (c.connect_name, c.metadata.name)]
    if len(of_name) == 1:
        return of_name[0]
    names = ", ".join(dict.fromkeys(c.connect_name for _, c in readable)) or "none that can be read"
    wrong = [Problem(f"{m.where}: {p.property}", p.message) for m in manifests for p in _problems(m)]
    what = "several connectors have the name" if of_name else "there is no connector"
    raise ConfigError([Problem("--connector", f"{what} {name}; available: {names}"), *wrong])


def _problems(manifest: Manifest) -> tuple[Problem, ...]:
    return manifest.read.problems if isinstance(manifest.read, ConfigError) else ()


def _text(file: str | Path, stdin: TextIO) -> tuple[str, str]:
    if str(file) == "-":
        return "standard input", stdin.read()
    try:
        return str(file), Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(Problem(str(file), "is not UTF-8 text; save it as UTF-8")) from None
    except IsADirectoryError:
        raise ConfigError(Problem(str(file), "is a directory; specify the files in it")) from None
    except OSError as e:
        raise ConfigError(Problem(str(file), f"cannot be read: {e.strerror}")) from None


def _manifests(file: str, text: str, skipped: Counter[str]) -> Iterator[Manifest]:
    """Yield the connectors of a file, and count its resources of other kinds."""
    if connect_forms.looks_like_properties(file, text):
        try:
            yield _connect_form(file, parse_properties(text), Reading())
        except ValueError as e:
            line, _, message = str(e).partition(": ")
            yield Manifest(file, ConfigError(Problem(line, message)))
        return
    for document in documents(text):
        if document.value is None:
            yield Manifest(file, ConfigError(document.problems))
            continue
        flaws = document.problems  # of the text; reported once, with the first item of a list
        for value in _items(document.value):
            if not flaws and isinstance(value, dict) and _is_of_another_kind(value):
                skipped[str(value["kind"])] += 1
                continue
            yield _manifest(file, document, value, flaws)
            flaws = ()


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _items(item)
    else:
        yield value


def _manifest(file: str, document: Document, value: Any, flaws: tuple[Problem, ...]) -> Manifest:
    place = f"document {document.number} (line {document.line})"
    if not isinstance(value, dict):
        problem = Problem(place, "must be a mapping with apiVersion, kind, metadata and spec")
        return Manifest(file, ConfigError([*flaws, problem]))
    if connect_forms.is_connect_form(value):
        config = value["config"] if isinstance(value.get("config"), dict) else value
        return _connect_form(file, value, Reading(flaws, _respelt(config, document)))
    metadata, spec = value.get("metadata"), value.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    where = f"{file}, {place}, {value.get('kind') or 'resource'} {name or 'without a name'}"
    if _is_of_another_kind(value):  # not skipped, because the text of its document has flaws
        return Manifest(where, ConfigError(flaws))
    if (refused := _no_connector(value)) is not None:
        return Manifest(where, ConfigError([*flaws, refused]))
    config = spec.get("config") if isinstance(spec, dict) else None
    return _read(where, lambda: Connector.draft(value), Reading(flaws, _respelt(config, document)))


def _connect_form(file: str, value: Mapping[str, Any], text: Reading) -> Manifest:
    name = value.get("name")
    return _read(f"{file}, connector {name or 'without a name'}", lambda: connect_forms.connector(value), text)


def _read(where: str, read: Callable[[], Connector], text: Reading) -> Manifest:
    """Return the manifest of a connector, with the findings about its text added."""
    try:
        connector = read()
    except ConfigError as e:
        return Manifest(where, ConfigError([*text.problems, *e.problems]))
    own = connector.reading
    both = replace(own, problems=(*text.problems, *own.problems), warnings=(*own.warnings, *text.warnings))
    return Manifest(where, connector.with_reading(both))


def _is_of_another_kind(value: Mapping[str, Any]) -> bool:
    """Return whether a resource is neither a connector of any operator nor a misspelt Connector."""
    kind = value.get("kind")
    group = str(value.get("apiVersion") or "").partition("/")[0]
    if group == API_VERSION.partition("/")[0]:
        return kind in _OTHER_KINDS
    return (
        isinstance(kind, str)
        and kind not in ("Connector", *_TO_IMPORT.get(group, ()))
        and nearest(kind, ["Connector"]) is None
        and not connect_forms.is_connect_form(value)
    )


def _no_connector(value: Mapping[str, Any]) -> Problem | None:
    kind = value.get("kind")
    group = str(value.get("apiVersion") or "").partition("/")[0]
    if kind in _TO_IMPORT.get(group, ()):
        return Problem("kind", f"{kind} is a resource of {group}; `penstock import FILE` converts it to a Connector")
    if kind is None:
        return Problem("kind", "is missing; write kind: Connector")
    if kind != "Connector":
        hint = "did you mean Connector?" if nearest(str(kind), ["Connector"]) else "write kind: Connector"
        return Problem("kind", f"{kind} is unknown; {hint}")
    if value.get("apiVersion") is None:
        return Problem("apiVersion", f"is missing; write apiVersion: {API_VERSION}")
    return None


def _respelt(config: Any, document: Document) -> tuple[Problem, ...]:
    """Return a warning for each value whose text YAML changes. The value is not shown: it may be a numeric password."""
    names = [n for n in config if (id(config), n) in document.respelt] if isinstance(config, dict) else []
    return tuple(
        Problem(
            name,
            f"YAML reads this value as a {'boolean' if isinstance(config[name], bool) else 'number'}, which changes its "
            f"text; quote it to keep the text as it is written",
        )
        for name in names
    )


def _with_unique_names(found: list[Manifest]) -> Iterator[Manifest]:
    """Yield the manifests; of several with the same name in Kafka, all but the first get a problem."""
    first: dict[str, str] = {}
    for manifest in found:
        if isinstance(manifest.read, ConfigError) or manifest.read.metadata.name == UNNAMED:
            yield manifest
            continue
        name, reading = manifest.read.connect_name, manifest.read.reading
        if name in first:
            flaw = Problem(
                "metadata.name",
                f"has the same name in Kafka ({name}) as {first[name]}; change metadata.name, metadata.namespace or "
                f"spec.connectName",
            )
            changed = manifest.read.with_reading(replace(reading, problems=(*reading.problems, flaw)))
            manifest = replace(manifest, read=changed)
        first.setdefault(name, manifest.where)
        yield manifest
