"""Public view of a Connector's configuration. Pure.

A value is shown only if it cannot be a secret: its property is known, is not a password, is not named like one, and does
not set a value of records. The page and the REST API are served without authentication, so that a value of an unknown
property is hidden, too.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from penstock_model.connect.connector_config import SinkConfig, SourceConfig
from penstock_model.connect.plugin_chain import CONNECTOR, asked_plugins
from penstock_model.connect.redaction import HIDDEN
from penstock_model.connect.secret_names import has_secret_text, has_secret_word
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import ClassDefinition
from penstock_model.validation.connector import PluginKnowledge
from penstock_model.validation.plugin_definitions import find_definitions

__all__ = ["shown_config"]

_CAUTIOUS_NAME: Final = re.compile(r"pass|auth|signature|sas\b|webhook|keystore|\bpem\b", re.IGNORECASE)
"""Names too general for `has_secret_word`, which imports use to propose Secrets; hiding a harmless value costs little."""
_CONTENT_NAME: Final = re.compile(r"(^|\.)(static\.value|value\.literal)")
"""Properties of InsertField and InsertHeader whose value becomes part of records: a tenant's key, for example."""
_VARIABLE: Final = re.compile(r"\$\{[^}:]+:[^}]+\}")
_CAUTIOUS_TEXT: Final = re.compile(
    r"://[^\s@]{0,200}+@|[/:][^\s/:@]{1,200}+:{0,5}@|"  # user information without a password: it may be a token
    r"(?:pass|pwd|secret|token|credential|authorization|(?:api|access|account|private)[._-]?key)[\w.-]{0,50}[\"']?"
    r"\s{0,5}[=:]\s{0,5}[^\s=:]|(?:key|sig)[\w.-]{0,50}\s{0,5}=",  # headers, also types and renames of fields
    re.IGNORECASE,
)
"""Texts too general for `has_secret_text`. Repeats are bounded, because the event loop waits for the search."""
_LONGEST: Final = 65_536
"""Characters of the longest value that is searched, and so may be shown: longer ones would delay the event loop."""
_FRAMEWORK: Final = frozenset(p.name for kind in (SourceConfig, SinkConfig) for p in kind.properties())
_CHAIN_PROPERTY: Final = re.compile(
    r"(transforms|predicates)\.[^.]+\.(type|predicate|negate|plugin\.version)|(key|value|header)\.converter\.plugin\.version"
)
_TOPIC_CREATION: Final = re.compile(
    r"topic\.creation\.(groups|[^.]+\.(include|exclude|partitions|replication\.factor|[a-z.]+))"
)


def shown_config(connector: Mapping[str, Any], knowledge: PluginKnowledge, worker: WorkerConfig) -> dict[str, str]:
    """Return `spec.config` with `[hidden]` instead of every value that could be a secret. References to Secrets are shown.

    Args:
        connector: the resource.
        knowledge: knowledge of the plugins of its namespace.
        worker: worker configuration.
    """
    definitions = _definitions(connector, knowledge, worker)
    kinds = {
        key.name if place == CONNECTOR else f"{place}.{key.name}": key.type
        for place, definition in definitions.items()
        for key in definition.config
    }
    config = (connector.get("spec") or {}).get("config") or {}
    return {str(name): _shown(str(name), str(value), kinds) for name, value in config.items()}


def _definitions(
    connector: Mapping[str, Any], knowledge: PluginKnowledge, worker: WorkerConfig
) -> Mapping[str, ClassDefinition]:
    """Return the known definitions of the plugins of a Connector, by place (`connector`, `transforms.hoist`)."""
    spec = connector.get("spec") or {}
    config = {str(k): str(v) for k, v in (spec.get("config") or {}).items()}
    asked = asked_plugins(str(spec.get("class", "")), _text(spec.get("version")), config, worker.converters)
    written = {a.place: config.get(a.type_property, "").strip() for a in asked}
    return find_definitions(asked, knowledge.offers, knowledge.published, knowledge.release, written).definitions


def _shown(name: str, value: str, kinds: Mapping[str, str]) -> str:
    if _VARIABLE.fullmatch(value.strip()) or not value:
        return value
    is_known = name in _FRAMEWORK or name in kinds or _CHAIN_PROPERTY.fullmatch(name) or _TOPIC_CREATION.fullmatch(name)
    if not is_known or kinds.get(name) == "PASSWORD":
        return HIDDEN
    if (has_secret_word(name) or _CAUTIOUS_NAME.search(name)) and kinds.get(name) != "BOOLEAN":
        return HIDDEN
    if len(value) > _LONGEST:
        return HIDDEN
    could_be_secret = _CONTENT_NAME.search(name) or has_secret_text(value) or _CAUTIOUS_TEXT.search(value)
    return HIDDEN if could_be_secret else value


def _text(value: object) -> str | None:
    return None if value is None else str(value)
