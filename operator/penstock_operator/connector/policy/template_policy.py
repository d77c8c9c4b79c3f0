"""Check `spec.template` of a Connector against the fields of pods and the release's policy. Pure.

Pod Security admission may be disabled in a namespace, and it sees a pod created by the operator, not by its user.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import normpath
from typing import Any, Final

from penstock.errors import Problem
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.pod_status import SPARK_VOLUME
from penstock_operator.connector.policy.pod_security import items, mapping, violations
from penstock_operator.connector.policy.strategic_merge import merged
from penstock_operator.kubernetes.pod_fields import template_problems
from penstock_operator.settings import Level, Settings

__all__ = ["refusals", "with_init_containers", "with_template_policy", "without_template"]

_OURS: Final = "PENSTOCK_"
_FOLDER: Final = "/etc/penstock"
_VOLUMES: Final = ("plan", "request", "scratch", SPARK_VOLUME)
_PREFIXES: Final = ("secret-", "penstock-plugin-")
_LONGEST: Final = 65_536  # characters of JSON
_LEVEL: Final = "podSecurity.level of the release is"
_LEAST: Final[Mapping[str, Any]] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def with_template_policy(connector: Connector, settings: Settings) -> Connector:
    """Return the Connector from which pods are created: a refused template is removed, and its problems are reported."""
    problems = refusals(connector, settings)
    return without_template(connector, problems) if problems else connector


def without_template(connector: Connector, problems: Sequence[Problem]) -> Connector:
    """Return the Connector without its template, and with these problems."""
    reading = connector.reading
    spec = connector.spec.model_copy(update={"template": {}})
    return connector.model_copy(update={"spec": spec}).with_reading(
        replace(reading, problems=(*reading.problems, *problems))
    )


def refusals(connector: Connector, settings: Settings) -> tuple[Problem, ...]:
    """Return the problems of a Connector's template, each under its field path."""
    template, level = connector.spec.template, settings.pod_security.level
    if not template:
        return ()
    if (length := len(json.dumps(template, separators=(",", ":"), ensure_ascii=False))) > _LONGEST:
        message = (
            f"has {length} characters as JSON, but the maximum is {_LONGEST}; put scripts and files into a ConfigMap"
        )
        return (Problem("spec.template", message),)
    if wrong := template_problems(template):
        return wrong
    plain = _plain(settings)
    with_template = {
        "metadata": {"annotations": template.get("annotations")},
        "spec": with_init_containers(
            merged(plain["spec"], {k: v for k, v in template.items() if k != "labels"}), level
        ),
    }
    before = set(violations(plain, level))
    problems = [
        Problem(f"spec.template.{v.path}", f"{v.message} ({_LEVEL} {level})")
        for v in violations(with_template, level)
        if v not in before or _sets(template, v.path)
    ]
    if level is not Level.UNRESTRICTED:
        problems += _beyond(with_template["spec"], level)
    in_release = connector.metadata.namespace == settings.release.namespace
    account = settings.release.service_account if in_release else ""
    return (*problems, *_identity(with_template["spec"], account), *_reserved_names(template))


def with_init_containers(spec: Mapping[str, Any], level: Level) -> dict[str, Any]:
    """Return a pod's spec in which init containers have the settings that Restricted requires, unless they set others."""
    given = items(spec.get("initContainers"))
    if level is not Level.RESTRICTED or not given:
        return dict(spec)
    restricted = [
        {**c, "securityContext": merged(_LEAST, c.get("securityContext") or {})} if isinstance(c, Mapping) else c
        for c in given
    ]
    return {**spec, "initContainers": restricted}


def _sets(template: Mapping[str, Any], path: str) -> bool:
    """Return whether the template sets this field of the pod, or a field that contains it."""
    node: Any = template
    for part in path.split("."):
        if not isinstance(node, Mapping):
            return True
        if part not in node:
            return False
        node = node[part]
    return True


def _plain(settings: Settings) -> dict[str, Any]:
    """Return the relevant parts of a pod without a template: the release's settings are not the user's fault."""
    spec = {
        "automountServiceAccountToken": False,
        "volumes": [],
        "securityContext": settings.task.pod_security_context,
        "containers": [{"name": "task", "securityContext": settings.task.security_context}],
    }
    return {"metadata": {}, "spec": spec}


def _beyond(spec: Mapping[str, Any], level: Level) -> Iterator[Problem]:
    """Yield problems of fields that the Pod Security Standards do not cover."""
    if str(spec.get("priorityClassName", "")).startswith("system-"):
        yield Problem(
            "spec.template.priorityClassName",
            f"must not be a system class, whose pods preempt others ({_LEVEL} {level}); use another class",
        )
    if level is Level.RESTRICTED:
        for path in _tokens(spec):
            yield Problem(
                f"spec.template.{path}",
                f"must not mount a token of the API server, which a task does not need ({_LEVEL} {level}); remove it",
            )


def _tokens(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that mount a token of a pod's ServiceAccount."""
    if spec.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken"
    for volume in items(spec.get("volumes")):
        for source in items(mapping(mapping(volume).get("projected")).get("sources")):
            if mapping(source).get("serviceAccountToken") is not None:
                yield f"volumes[{mapping(volume).get('name')}].projected.sources.serviceAccountToken"


def _identity(spec: Mapping[str, Any], account: str) -> Iterator[Problem]:
    """Yield problems with the operator's account, at all levels: authors of Connectors would get its permissions."""
    named = spec.get("serviceAccountName")
    if (named or "default") != account:
        return
    if named:
        yield Problem("spec.template.serviceAccountName", f"must not be {account}, which is the operator's account")
    for path in _tokens(spec):
        yield Problem(f"spec.template.{path}", f"must not mount a token of {account}, which is the operator's account")


def _reserved_names(template: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems with variables, volumes and paths that are reserved for a task's identity and secrets."""
    for variable in items(template.get("env")):
        name = str(mapping(variable).get("name", ""))
        if name.startswith(_OURS):
            yield Problem(
                f"spec.template.env[{name}]", f"must not be set: variables {_OURS}... are reserved for Penstock"
            )
    for number, source in enumerate(items(template.get("envFrom"))):
        prefix = str(mapping(source).get("prefix") or "")
        if prefix and (prefix.startswith(_OURS) or _OURS.startswith(prefix)):
            yield Problem(
                f"spec.template.envFrom[{number}].prefix",
                f"must not create variables {_OURS}..., which are reserved for Penstock",
            )
    for volume in items(template.get("volumes")):
        name = str(mapping(volume).get("name", ""))
        if name in _VOLUMES or name.startswith(_PREFIXES):
            yield Problem(f"spec.template.volumes[{name}]", "is reserved for a volume of Penstock; use another name")
    for container in items(template.get("initContainers")):
        name = str(mapping(container).get("name", ""))
        if name.startswith(_PREFIXES):
            yield Problem(
                f"spec.template.initContainers[{name}]", "is reserved for a container of Penstock; use another name"
            )
    for mount in items(template.get("volumeMounts")):
        path = normpath(f"/{mapping(mount).get('mountPath', '')}").replace("//", "/", 1)
        if path == _FOLDER or path.startswith(f"{_FOLDER}/"):
            yield Problem(
                f"spec.template.volumeMounts[{path}]", f"must not be in {_FOLDER}, which is reserved for Penstock"
            )
