"""Check the properties of a worker configuration and resolve their variables."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock import ConfigError, Problem
from penstock_model.connect.redaction import Redactor, client_secrets
from penstock_model.connect.variables import resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.connect.worker_warnings import warnings
from penstock_model.kafka_properties.client_kinds import CLIENT_KINDS
from penstock_model.kafka_properties.translation import translate_layers
from penstock_runtime.plugins.config_providers import ConfigProviders

__all__ = ["Worker", "worker_from"]


class Worker(NamedTuple):
    """Worker configuration, and warnings for the user who wrote it."""

    config: WorkerConfig
    warnings: tuple[Problem, ...]


def worker_from(texts: Mapping[str, str], secrets_dir: Path | None = None) -> Worker:
    """Return the worker configuration of these properties; `WorkerConfig.raw` keeps them with their variables.

    Raises:
        ConfigError: all problems together.
        ConnectError: a config provider fails, or does not answer.
    """
    with ConfigProviders(texts, secrets_dir) as providers:
        problems = list(providers.problems())
        if problems:  # variables of these providers would only add follow-up problems
            raise ConfigError(problems)
        resolved = resolve(texts, secrets_dir, providers=providers.table)
    redactor = Redactor([*resolved.secrets, *client_secrets(resolved.values)], texts, texts)
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
