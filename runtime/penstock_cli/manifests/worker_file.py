"""Reader of a worker configuration: Connect's `worker.properties`, or the same names as a YAML mapping."""

from collections.abc import Mapping
from pathlib import Path

from penstock import ConfigError, Problem
from penstock_cli.manifests.yaml_text import documents, flat_texts
from penstock_java_compat.properties import parse_properties
from penstock_runtime.plan.worker_check import Worker, worker_from

__all__ = ["read_texts", "read_worker"]


def read_worker(path: Path, secrets_dir: Path | None = None) -> Worker:
    """Return the worker configuration of a file; `.yaml` and `.yml` are YAML, all others are Java properties.

    Args:
        path: the file.
        secrets_dir: folder in which `${secret:<name>:<key>}` is looked up.

    Raises:
        ConfigError: the file is invalid; the error lists all problems, each with file and property.
        ConnectError: a config provider fails, or does not respond.
    """
    texts = read_texts(path)
    try:
        return worker_from(texts, secrets_dir)
    except ConfigError as e:
        raise _named(path, e) from e


def read_texts(path: Path) -> Mapping[str, str]:
    """Return the properties of a file, unchecked.

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
    """Return the same error, with the file named in each problem."""
    return ConfigError(Problem(f"{path}: {p.property}" if p.property else str(path), p.message) for p in error.problems)


def _texts(path: Path, text: str) -> Mapping[str, str]:
    if path.suffix in (".yaml", ".yml"):
        found = list(documents(text))
        if problems := [p for d in found for p in d.problems]:
            raise ConfigError(problems)
        if len(found) != 1 or not isinstance(found[0].value, dict):
            raise ConfigError("must contain one mapping from property names to values")
        return flat_texts(found[0].value)
    try:
        return parse_properties(text)
    except ValueError as e:
        raise ConfigError(str(e)) from None
