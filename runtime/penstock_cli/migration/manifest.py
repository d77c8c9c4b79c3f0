"""Converter from a found connector to a Connector's manifest; reports settings that it omits. Pure, but for plugins."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConfigError, ConnectError, Problem
from penstock_cli.manifests import connect_forms
from penstock_cli.migration.foreign_plugins import foreign_plugins
from penstock_cli.migration.found import Found
from penstock_cli.migration.known_plugins import KnownPlugin, KnownPlugins
from penstock_cli.migration.pod_variables import is_unresolved, looked_up_in_pods, not_looked_up
from penstock_cli.migration.renamed_properties import with_new_names
from penstock_cli.migration.secret_texts import (
    hidden_parts,
    keys_of,
    placeholders,
    secret_properties,
    with_references,
)
from penstock_model.connect.plugin_chain import class_names
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.variables import Secret
from penstock_model.connect.version_messages import reported_once
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.connector import API_VERSION, Connector
from penstock_runtime.plan import plan
from penstock_runtime.plan.plaintext_passwords import IN_PLAINTEXT
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["Imported", "imported"]

_CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")


@dataclass(frozen=True)
class Imported:
    """Connector with its manifest.

    Attributes:
        name: the Connect name.
        manifest: the manifest for `kubectl`.
        kind: `source` or `sink`, from Kafka Connect or from the class here; empty if neither is known.
        tasks: maximum number of tasks that Kafka Connect may have had.
        problems: reasons why the manifest cannot run as it is; without secrets, as are the next two.
        changes: differences from the configuration that was found.
        remarks: settings that are not carried over, or could not be checked here.
        secrets: extracted texts, by Secret and key.
        needs: plugins that Penstock does not have.
        is_ambiguous: whether another namespace has a connector of this name.
    """

    name: str
    manifest: Mapping[str, Any]
    kind: str
    tasks: int
    problems: tuple[Problem, ...] = ()
    changes: tuple[Problem, ...] = ()
    remarks: tuple[Problem, ...] = ()
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    needs: tuple[KnownPlugin, ...] = ()
    is_ambiguous: bool = False

    @property
    def notes(self) -> tuple[Problem, ...]:
        """Return everything that the report says about it."""
        return tuple(dict.fromkeys((*self.problems, *self.remarks, *self.changes)))

    @property
    def label(self) -> str:
        """Return its name for reports, with its namespace if a connector of another namespace has the same name."""
        return f"{self.namespace}/{self.name}" if self.is_ambiguous and self.namespace else self.name

    @property
    def namespace(self) -> str | None:
        """Return the namespace of the manifest; None if it has none."""
        found: str | None = self.manifest["metadata"].get("namespace")
        return found


def imported(
    found: Found,
    worker: WorkerConfig,
    of_worker: Mapping[str, str],
    namespace: str | None,
    secrets_dir: Path | None = None,
    known: KnownPlugins | None = None,
) -> Imported:
    """Return the connector with its manifest.

    Args:
        found: the connector that was found.
        worker: worker configuration that checks it.
        of_worker: properties that Kafka Connect's worker sets for all its connectors: the default converters.
        namespace: value for `metadata.namespace`; None: that of the connector.
        secrets_dir: folder in which `${secret:<name>:<key>}` is looked up; None: in pods only.
        known: classes that its Kafka Connect has.

    Raises:
        ConfigError: it has no name or no class, so that there is no manifest.
    """
    draft = connect_forms.connector(found.form)
    name = draft.connect_name
    unread = [p for p in draft.reading.problems if p.property in ("metadata.name", "spec.class")]
    if unread:
        raise ConfigError(
            Problem(
                f"{found.where}: {p.property}",
                "is missing; import only this file, and pass --name with the name in Kafka Connect's URL",
            )
            if p.property == "metadata.name" and p.message.startswith("is missing")
            else Problem(f"{found.where}: {p.property}", p.message)
            for p in unread
        )
    if not all(map(_is_text, [name, *draft.spec.config, *draft.spec.config.values()])):
        raise ConfigError(Problem(found.where, "contains half of a surrogate pair, which is not valid text; remove it"))
    known = known or KnownPlugins(())
    class_name = known.full_name("connector", draft.spec.class_name)
    own, dropped = _with_converters(draft.spec.config, of_worker)
    own, renamed = with_new_names(class_name, own)
    needs = foreign_plugins(class_name, draft.spec.version, own, known)
    secrets = secret_properties(class_name, own)
    keys = keys_of(secrets)
    secret_name = f"{draft.metadata.name}-imported"
    spec: dict[str, Any] = {"class": class_name}
    if draft.spec.version is not None:
        spec["version"] = draft.spec.version
    spec |= {"connectName": name, "tasksMax": draft.spec.tasks_max, "state": draft.spec.state.value}
    if found.restart:
        spec["restart"] = dict(found.restart)
    spec["config"] = with_references(own, keys, secret_name)
    metadata = {"name": draft.metadata.name}
    if place := namespace or found.namespace:
        metadata["namespace"] = place
    manifest = {"apiVersion": API_VERSION, "kind": "Connector", "metadata": metadata, "spec": spec}
    kind, found_wrong, warnings = _checked({**manifest, "spec": {**spec, "config": own}}, worker, secrets_dir)
    redactor = Redactor(
        (Secret(f"${{secret:{secret_name}:{keys[n]}}}", text) for n, text in hidden_parts(secrets, own)),
        [class_name, *class_names(own), *own],
    )
    left_out = [Problem(p.property, f"{p.message}; it is omitted from the manifest") for p in draft.reading.problems]
    open_problems, remarks = (
        [p for p in of if not _is_settled(p, own, secrets) and not _is_brought(p, needs)]
        for of in (found_wrong, warnings)
    )
    return Imported(
        name,
        manifest,
        found.kind or kind,
        max(found.tasks, draft.spec.tasks_max),
        tuple(
            dict.fromkeys(
                [
                    *found.problems,
                    *placeholders(own),
                    *(redactor.problem(p) for p in open_problems if p not in draft.reading.problems),
                ]
            )
        ),
        tuple(
            dict.fromkeys(
                [*found.changes, *dropped, *renamed, *map(redactor.problem, left_out), *_of_secrets(keys, secret_name)]
            )
        ),
        tuple(
            dict.fromkeys(
                [*_remarks(found, draft, own, place, has_worker=bool(of_worker)), *map(redactor.problem, remarks)]
            )
        ),
        {secret_name: {keys[n]: text for n, text in secrets.items()}} if secrets else {},
        needs,
    )


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _with_converters(config: Mapping[str, str], of_worker: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    """Return the configuration with the worker's converters where it has none, and the properties that have no effect there.

    Kafka Connect takes a converter's class and properties from one place, and never mixes them.
    """
    found, dropped = dict(config), []
    for place in _CONVERTERS:
        if place in config or place not in of_worker:
            continue
        for name in [n for n in config if n.startswith(f"{place}.")]:
            del found[name]
            dropped.append(Problem(name, f"has no effect without {place}, and is omitted from the manifest"))
        found |= {n: t for n, t in of_worker.items() if n == place or n.startswith(f"{place}.")}
    return found, dropped


def _remarks(
    found: Found, draft: Connector, config: Mapping[str, str], namespace: str | None, *, has_worker: bool
) -> list[Problem]:
    """Return the points for the user to check, from the found connector and from the names and variables in it."""
    name = draft.connect_name
    notes = [*found.notes]
    unset = [c for c in _CONVERTERS[:2] if c not in config]
    if found.cluster and not has_worker:
        notes.append(
            Problem(
                "",
                f"KafkaConnect {found.cluster} is not in the input; add it to the file, for its default converters, its "
                "plugins and its offset.storage.topic",
            )
        )
    elif unset:
        verb, which, what = ("are", "those", "converters") if len(unset) == 2 else ("is", "that", "converter")
        where = "which the connector's resource does not show" if found.resource else "which the REST API does not show"
        notes.append(
            Problem(
                " and ".join(unset),
                f"{verb} not set, so the connector uses {which} of Kafka Connect's worker, {where}; pass the worker's "
                f"file with --connect-worker, or make sure that the release has the same {what}",
            )
        )
    prefix = name.partition(".")[0] if "." in name else ""
    if prefix and prefix != namespace:
        notes.append(
            Problem(
                "spec.connectName",
                f"{name} is a name for namespace {prefix}, which may have such a connector; create the Connector in that "
                f"namespace, or have the name added to allowedConnectNames of the release",
            )
        )
    return [*notes, *looked_up_in_pods(config)]


def _checked(
    manifest: Mapping[str, Any], worker: WorkerConfig, secrets_dir: Path | None
) -> tuple[str, Sequence[Problem], Sequence[Problem]]:
    """Return the kind, and the problems and warnings that `penstock validate` finds in the configuration with its secrets.

    The connector is planned as Stopped, so that no plugin is called for tasks: many query the external system.
    Variables for pods are not looked up on this machine.
    """
    spec = {**manifest["spec"], "state": "Stopped", "config": not_looked_up(manifest["spec"]["config"])}
    try:
        found = plan(Connector.draft({**manifest, "spec": spec}), worker, Plugins.installed(), secrets_dir)
    except ConfigError as e:
        return "", reported_once(e.problems), e.warnings
    except ConnectError as e:
        return "", (), (Problem("", f"cannot be checked completely: {e}"),)
    return found.kind, (), found.warnings


def _is_settled(problem: Problem, config: Mapping[str, str], secrets: Mapping[str, str]) -> bool:
    """Return whether a problem is settled: its secret was extracted, or its variable is resolved only in pods."""
    if problem.property in secrets:
        return problem.message.startswith(IN_PLAINTEXT)
    return is_unresolved(problem.message) and "${" in config.get(problem.property, "")


def _is_brought(problem: Problem, needs: Iterable[KnownPlugin]) -> bool:
    """Return whether the problem is a missing class among `needs`. Short names do not count: they may be misspelled."""
    missing = re.search(r"Class (\S+\.[^\s$]+)\S* could not be found", problem.message)
    return missing is not None and missing[1] in {n.class_name for n in needs}


def _of_secrets(keys: Mapping[str, str], secret_name: str) -> list[Problem]:
    return [
        Problem(
            name,
            f"may be a secret, and was extracted: the manifest refers to key {key} of Secret {secret_name}",
        )
        for name, key in keys.items()
    ]
