"""Reads a worker configuration: Connect's `worker.properties`, or the same names as a YAML mapping."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock import ConfigError, Problem
from penstock_java.properties import parse_properties
from penstock_model.connect.redaction import Redactor, client_secrets
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.connect.worker_warnings import warnings
from penstock_model.kafka_properties.client_kinds import CLIENT_KINDS
from penstock_model.kafka_properties.translation import translate_layers
from penstock_runtime.plugins.config_providers import ConfigProviders

__all__ = ["Worker", "read_texts", "read_worker", "worker_from"]


class Worker(NamedTuple):
    """A worker configuration and what its reader should know about it."""

    config: WorkerConfig
    warnings: tuple[Problem, ...]


def read_worker(path: Path, secrets_dir: Path | None = None) -> Worker:
    """The worker configuration of a file; `.yaml` and `.yml` are YAML, everything else is Java properties.

    Args:
        path: the file.
        secrets_dir: where `${secret:<name>:<key>}` is found.

    Raises:
        ConfigError: every problem at once, each naming file and property.
        ConnectError: a config provider fails, or does not answer.
    """
    texts = read_texts(path)
    try:
        return worker_from(texts, secrets_dir)
    except ConfigError as e:
        raise _named(path, e) from e


def read_texts(path: Path) -> Mapping[str, str]:
    """The properties of a file, unchecked.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
        raise ConfigError(Problem(str(path), f"cannot be read: {reason}")) from e
    try:
        return _texts(path, text)
    except ConfigError as e:
        raise _named(path, e) from e


def _named(path: Path, error: ConfigError) -> ConfigError:
    """The same error; each problem names the file."""
    return ConfigError(Problem(f"{path}: {p.property}" if p.property else str(path), p.message) for p in error.problems)


def worker_from(texts: Mapping[str, str], secrets_dir: Path | None = None) -> Worker:
    """The worker configuration of these properties; `WorkerConfig.raw` keeps them with their variables.

    Raises:
        ConfigError: every problem at once.
        ConnectError: a config provider fails, or does not answer.
    """
    with ConfigProviders(texts, secrets_dir) as providers:
        problems = list(providers.problems())
        if problems:  # their variables would be as many more
            raise ConfigError(problems)
        resolved = resolve(texts, secrets_dir, providers=providers.table)
    redactor = Redactor([*resolved.secrets, *client_secrets(resolved.values)])
    problems = list(resolved.problems)
    found = list(warnings(texts, frozenset(p.name for p in WorkerConfig.properties())))
    config = None
    try:
        config = WorkerConfig.parse(resolved.values)
    except ConfigError as e:
        unresolved = {p.property for p in resolved.problems}
        problems += (p for p in e.problems if p.property not in unresolved)
    else:
        for kind in CLIENT_KINDS:
            clients = translate_layers(kind, config.clients(kind))
            problems += clients.problems
            found += [*clients.meaningless, *clients.unknown]
    if problems or config is None:
        raise ConfigError(dict.fromkeys(map(redactor.problem, problems)))
    return Worker(config.with_raw(texts), tuple(dict.fromkeys(map(redactor.problem, found))))


def _texts(path: Path, text: str) -> Mapping[str, str]:
    if path.suffix in (".yaml", ".yml"):
        from penstock_runtime.manifests.yaml_text import documents, flat_texts

        found = list(documents(text))
        if problems := [p for d in found for p in d.problems]:
            raise ConfigError(problems)
        if len(found) != 1 or not isinstance(found[0].value, dict):
            raise ConfigError("must hold one mapping from property names to values")
        return flat_texts(found[0].value)
    try:
        return parse_properties(text)
    except ValueError as e:
        raise ConfigError(str(e)) from None
