"""Check `spec.template` of a Connector against fields of pods and the release's policy, all problems together. Pure.

Kubernetes' own admission may be off in a namespace, and it sees a pod that the operator created, not its user.
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
_OPENS: Final = "the platform's podSecurity.level:"
_LEAST: Final[Mapping[str, Any]] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def with_template_policy(connector: Connector, settings: Settings) -> Connector:
    """Return the Connector that pods are made from: a refused template is removed, and its problems are reported."""
    problems = refusals(connector, settings)
    return without_template(connector, problems) if problems else connector


def without_template(connector: Connector, problems: Sequence[Problem]) -> Connector:
    """Return the Connector without its template, for which these problems are reported."""
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
            f"is {length} characters long as JSON, and at most {_LONGEST} are allowed; put scripts and files into a "
            "ConfigMap"
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
    allows = f"{_OPENS} {level} does not allow otherwise"
    problems = [
        Problem(f"spec.template.{v.path}", f"{v.message}; {allows}")
        for v in violations(with_template, level)
        if v not in before or _sets(template, v.path)
    ]
    if level is not Level.UNRESTRICTED:
        problems += _beyond(with_template["spec"], level)
    in_release = connector.metadata.namespace == settings.release.namespace
    account = settings.release.service_account if in_release else ""
    return (*problems, *_identity(with_template["spec"], account), *_reserved_names(template))


def with_init_containers(spec: Mapping[str, Any], level: Level) -> dict[str, Any]:
    """Return a pod's spec in which init containers have the settings that Restricted requires, unless they set their own."""
    given = items(spec.get("initContainers"))
    if level is not Level.RESTRICTED or not given:
        return dict(spec)
    restricted = [
        {**c, "securityContext": merged(_LEAST, c.get("securityContext") or {})} if isinstance(c, Mapping) else c
        for c in given
    ]
    return {**spec, "initContainers": restricted}


def _sets(template: Mapping[str, Any], path: str) -> bool:
    """Return whether the template sets this field of the pod, or one that contains it."""
    node: Any = template
    for part in path.split("."):
        if not isinstance(node, Mapping):
            return True
        if part not in node:
            return False
        node = node[part]
    return True


def _plain(settings: Settings) -> dict[str, Any]:
    """Return a pod without a template, as far as it matters here: the release's own settings are not the user's fault."""
    spec = {
        "automountServiceAccountToken": False,
        "volumes": [],
        "securityContext": settings.task.pod_security_context,
        "containers": [{"name": "task", "securityContext": settings.task.security_context}],
    }
    return {"metadata": {}, "spec": spec}


def _beyond(spec: Mapping[str, Any], level: Level) -> Iterator[Problem]:
    """Yield refusals beyond the Pod Security Standards, which do not cover these fields."""
    if str(spec.get("priorityClassName", "")).startswith("system-"):
        yield Problem(
            "spec.template.priorityClassName",
            f"must not be a class of the system, whose pods preempt others; {_OPENS} {level} does not allow it",
        )
    if level is Level.RESTRICTED:
        for path in _tokens(spec):
            yield Problem(
                f"spec.template.{path}",
                f"must not mount a token of the API server, which a task does not need; {_OPENS} {level} does not allow it",
            )


def _tokens(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields through which a pod gets a token of its ServiceAccount."""
    if spec.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken"
    for volume in items(spec.get("volumes")):
        for source in items(mapping(mapping(volume).get("projected")).get("sources")):
            if mapping(source).get("serviceAccountToken") is not None:
                yield f"volumes[{mapping(volume).get('name')}].projected.sources.serviceAccountToken"


def _identity(spec: Mapping[str, Any], account: str) -> Iterator[Problem]:
    """Yield refusals of the operator's account, at all levels: whoever may write a Connector would have its rights."""
    named = spec.get("serviceAccountName")
    if (named or "default") != account:
        return
    if named:
        yield Problem("spec.template.serviceAccountName", f"must not be {account}, which is the operator's own")
    for path in _tokens(spec):
        yield Problem(f"spec.template.{path}", f"must not mount a token of {account}, which is the operator's own")


def _reserved_names(template: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield refusals of variables, volumes and paths that carry a task's identity and secrets."""
    for variable in items(template.get("env")):
        name = str(mapping(variable).get("name", ""))
        if name.startswith(_OURS):
            yield Problem(f"spec.template.env[{name}]", f"must not be set: {_OURS}... are Penstock's")
    for number, source in enumerate(items(template.get("envFrom"))):
        prefix = str(mapping(source).get("prefix") or "")
        if prefix and (prefix.startswith(_OURS) or _OURS.startswith(prefix)):
            yield Problem(
                f"spec.template.envFrom[{number}].prefix", f"must not make variables {_OURS}..., which are Penstock's"
            )
    for volume in items(template.get("volumes")):
        name = str(mapping(volume).get("name", ""))
        if name in _VOLUMES or name.startswith(_PREFIXES):
            yield Problem(f"spec.template.volumes[{name}]", "is the name of a volume of Penstock's; take another one")
    for container in items(template.get("initContainers")):
        name = str(mapping(container).get("name", ""))
        if name.startswith(_PREFIXES):
            yield Problem(
                f"spec.template.initContainers[{name}]", "is the name of a container of Penstock's; take another one"
            )
    for mount in items(template.get("volumeMounts")):
        path = normpath(f"/{mapping(mount).get('mountPath', '')}").replace("//", "/", 1)
        if path == _FOLDER or path.startswith(f"{_FOLDER}/"):
            yield Problem(f"spec.template.volumeMounts[{path}]", f"must not be in {_FOLDER}, which is Penstock's")
