"""Decide whether an object may be applied, from the object and the resources of its namespace. Pure.

An object is refused only for problems that its author can correct in the object. A problem that depends on other objects,
which may be applied later, is a warning, except for a class whose name misspells that of a plugin.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.definitions import Definitions
from penstock_model.resources.connector import Connector
from penstock_model.resources.effective_topic_policy import effective_policy
from penstock_model.resources.plugin_offers import offer_of
from penstock_model.resources.topic_policy_selection import PolicyBinding, bind, rivalry
from penstock_model.validation.connector import PluginKnowledge, check_connector
from penstock_model.validation.topics import PolicyUse
from penstock_model.validation.unknown_properties import Unknown
from penstock_operator.admission.answer import ALLOWED, Answer
from penstock_operator.connector.model.secrets import too_many, with_namespace
from penstock_operator.connector.policy.template_policy import refusals
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POLICY
from penstock_operator.name_ownership import reserved
from penstock_operator.settings import Settings, UnknownProperties

__all__ = ["NOTHING_KNOWN", "NamespaceView", "is_reviewed", "review"]

_OPERATIONS: Final = ("CREATE", "UPDATE")


@dataclass(frozen=True, slots=True)
class NamespaceView:
    """Resources of a namespace, as far as they could be read.

    Attributes:
        plugin_versions, policies: its resources, as the API server returned them; None: they could not be read.
        definitions: returns the definitions that a PluginVersion has published, by its name; None: there are none.
    """

    plugin_versions: Sequence[Mapping[str, Any]] | None
    policies: Sequence[Mapping[str, Any]] | None
    definitions: Callable[[str], Definitions | None]


NOTHING_KNOWN: Final = NamespaceView(None, None, lambda name: None)


def is_reviewed(request: Mapping[str, Any], settings: Settings) -> bool:
    """Return whether the object of a request is reviewed: it is created, or its spec changes, in a watched namespace.

    Objects that are being deleted, and the subresources status and scale, are never reviewed and so never blocked.
    """
    watched = settings.watch_namespaces
    if request.get("operation") not in _OPERATIONS or request.get("subResource"):
        return False
    if (request.get("kind") or {}).get("kind") not in _CHECKS:
        return False
    if watched and request.get("namespace") not in watched:
        return False
    found, before = request.get("object"), request.get("oldObject")
    if not isinstance(found, Mapping) or (found.get("metadata") or {}).get("deletionTimestamp"):
        return False
    return not isinstance(before, Mapping) or before.get("spec") != found.get("spec")


def review(
    request: Mapping[str, Any], view: NamespaceView, settings: Settings, unknown: UnknownProperties, release: str
) -> Answer:
    """Return the answer to a request.

    A problem that an object already had before an update is a warning, so that an object that became invalid can still be
    edited.

    Args:
        request: `request` of an AdmissionReview.
        view: view of the namespace.
        settings: settings of the release.
        unknown: the unknown properties that are problems.
        release: version of the built-in plugins.
    """
    if not is_reviewed(request, settings):
        return ALLOWED
    check = _CHECKS[request["kind"]["kind"]]
    is_update = request.get("operation") == "UPDATE"
    scope = _Scope(view, settings, unknown, release, is_update)
    answer = check(_named(request["object"], request), scope)
    if not answer.problems or not is_update:
        return answer
    before = check(_named(request["oldObject"], request), scope).problems
    kept = tuple(p for p in answer.problems if p in before)
    return Answer(tuple(p for p in answer.problems if p not in kept), (*kept, *answer.warnings))


@dataclass(frozen=True, slots=True)
class _Scope:
    view: NamespaceView
    settings: Settings
    unknown: UnknownProperties
    release: str
    is_update: bool

    def refuses(self, found: Unknown) -> bool:
        """Return whether an unknown property is a problem."""
        return self.unknown == "RefuseAll" or (self.unknown == "RefuseSimilar" and found.is_similar)


def _connector(document: Mapping[str, Any], scope: _Scope) -> Answer:
    view, settings = scope.view, scope.settings
    try:
        resource = Connector.draft({k: v for k, v in document.items() if k != "status"})
    except ConfigError as e:
        return Answer(e.problems)
    config = resource.spec.config
    binding = _binding(resource, view)
    knowledge = PluginKnowledge.of(view.plugin_versions, view.definitions, scope.release)
    more = [
        *refusals(resource, settings),
        *(_of_sentence(f"spec.{text}") for text in (*with_namespace(config), *too_many(config))),
    ]
    key = Key(resource.metadata.namespace or "", resource.metadata.name)
    if (refused := reserved(key, resource.connect_name, config, settings.allowed_connect_names)) is not None:
        more.append(_of_sentence(refused.message))
    named = resource.spec.topic_creation_policy_ref is not None
    use = PolicyUse(named=named, selected=binding is not None and binding.selected, registered=scope.is_update)
    try:
        warnings = check_connector(resource, settings.at_start.config, knowledge, use, scope.refuses, more)
    except ConfigError as e:
        problems, warnings = e.problems, e.warnings
    else:
        problems = ()
    return Answer(problems, (*warnings, *_of_policies(binding)))


def _policy(document: Mapping[str, Any], scope: _Scope) -> Answer:
    return _checked(effective_policy, document)


def _plugin_version(document: Mapping[str, Any], scope: _Scope) -> Answer:
    return _checked(offer_of, document)


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any], _Scope], Answer]]] = {
    CONNECTOR.kind: _connector,
    POLICY.kind: _policy,
    PLUGIN_VERSION.kind: _plugin_version,
}


def _checked(check: Callable[[Mapping[str, Any]], object], document: Mapping[str, Any]) -> Answer:
    try:
        check(document)
    except ConfigError as e:
        return Answer(e.problems)
    return ALLOWED


def _binding(resource: Connector, view: NamespaceView) -> PolicyBinding | None:
    """Return the policies that apply; None: they could not be read."""
    if view.policies is None:
        return None
    reference = resource.spec.topic_creation_policy_ref
    named = None if reference is None else reference.name
    return bind(named, resource.metadata.labels, resource.spec.config, view.policies)


def _of_policies(binding: PolicyBinding | None) -> list[Problem]:
    """Return warnings about policies, which may be applied or changed together with the Connector in any order."""
    if binding is None:
        return []
    name, found = "spec.topicCreationPolicyRef", []
    if binding.missing:
        found.append(Problem(name, f"the TopicCreationPolicy {binding.missing} is not in this namespace"))
    for policy, why in binding.invalid.items():
        found.append(Problem(name, f"the TopicCreationPolicy {policy} cannot be applied: {why}"))
    if binding.rivals:
        found.append(Problem(name, rivalry(binding.rivals)))
    return [*found, *binding.refused]


def _of_sentence(sentence: str) -> Problem:
    """Return the problem described by a sentence that begins with the path of a field."""
    path, _, message = sentence.partition(": ")
    return Problem(path, message) if message else Problem("", sentence)


def _named(document: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with its namespace and a name, from the request or `generateName` if it has none."""
    metadata = dict(document.get("metadata") or {})
    metadata.setdefault("namespace", request.get("namespace"))
    if not metadata.get("name"):
        metadata["name"] = str(request.get("name") or "") or str(metadata.get("generateName") or "").rstrip("-")
    return {**document, "metadata": metadata}
