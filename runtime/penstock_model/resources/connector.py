"""`Connector` resource (`penstock.dev/v1alpha1`), read by the operator and `penstock run`. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr

from penstock.errors import ConfigError, Problem
from penstock_model.contracts.job_answer import RequestTexts
from penstock_model.resources.base import API_VERSION, ObjectMeta, Part, label
from penstock_model.resources.connector_parts import Backoff, Restart
from penstock_model.resources.connector_spec import OWNED, ConnectorSpec, State
from penstock_model.resources.constraints import rule, ruled
from penstock_model.resources.partial import PLACEHOLDER, Reading, read_partially

__all__ = [
    "API_VERSION",
    "NAME_LENGTH",
    "OWNED",
    "UNNAMED",
    "Backoff",
    "Connector",
    "ConnectorSpec",
    "Metadata",
    "Reading",
    "Restart",
    "State",
    "default_connect_name",
]

NAME_LENGTH: Final = 45
"""Maximum number of characters: pod names `<connector>-<task>-<incarnation>` and labels must not exceed Kubernetes' 63."""

UNNAMED: Final = "unnamed"
"""The name of a draft whose resource has no valid name."""


def _connector_name(name: str) -> str:
    if len(name) > NAME_LENGTH:
        raise ValueError(f"has {len(name)} characters; at most {NAME_LENGTH} are allowed, so that pod names fit")
    return label(name)


class Metadata(ObjectMeta):
    """Metadata of a Connector."""

    name: Annotated[str, AfterValidator(_connector_name)] = Field(examples=["orders-in"])


class Connector(Part):
    """Connector resource."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule(
                f"self.metadata.name.size() <= {NAME_LENGTH}",
                f"is too long; at most {NAME_LENGTH} characters are allowed, so that pod names fit",
                path=".metadata.name",
            ),
            rule(
                "!self.metadata.name.contains('.')",
                "must be lower case letters, digits and '-', and start and end with a letter or digit",
                path=".metadata.name",
            ),
        )
    )

    api_version: Literal["penstock.dev/v1alpha1"] = API_VERSION
    kind: Literal["Connector"] = "Connector"
    metadata: Metadata = Field(examples=[{"name": "orders-in"}])
    spec: ConnectorSpec = Field(examples=[{"class": "FileStreamSource", "config": {"file": "/data/orders.jsonl"}}])
    status: dict[str, Any] | None = None

    _reading: Reading = PrivateAttr(default_factory=Reading)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the resource in a parsed document.

        Raises:
            ConfigError: contains all problems, each with its field path (`spec.config.file`).
        """
        draft = cls.draft(document)
        if draft.reading.problems:
            raise ConfigError(draft.reading.problems)
        return draft

    @classmethod
    def draft(cls, document: Mapping[str, Any]) -> Self:
        """Return the resource without its invalid fields; their problems are in `reading.problems`.

        Validation uses it to report all problems together: `penstock_runtime.plan` rejects a draft with problems, and adds
        those of the other fields.

        Raises:
            ConfigError: the document cannot be read at all.
        """
        owned = _owned_properties(document)
        config = document["spec"]["config"] if owned else {}
        class_name = config.get("connector.class")
        placeholders = {
            ("metadata",): {"name": UNNAMED},
            ("metadata", "name"): UNNAMED,
            ("spec",): {"class": PLACEHOLDER},
            ("spec", "class"): class_name if isinstance(class_name, str) and class_name.strip() else PLACEHOLDER,
        }
        draft, problems = read_partially(cls, document, placeholders)
        if owned:
            rest = {name: text for name, text in draft.spec.config.items() if name not in OWNED}
            draft = draft.model_copy(update={"spec": draft.spec.model_copy(update={"config": rest})})
        return draft.with_reading(Reading(problems=(*problems, *owned)))

    @property
    def reading(self) -> Reading:
        """Return problems, warnings and field names of the document from which the resource was read."""
        return self._reading

    def with_reading(self, reading: Reading) -> Self:
        """Return a copy of the resource with another `reading`."""
        other = self.model_copy()
        other._reading = reading  # noqa: SLF001 (its own class)
        return other

    @property
    def connect_name(self) -> str:
        """Return the Connect name, which is in the name of the consumer group and in the keys of status and offsets."""
        if self.spec.connect_name is not None:
            return self.spec.connect_name
        return default_connect_name(self.metadata.namespace, self.metadata.name)

    def request_texts(self, worker: Mapping[str, str]) -> RequestTexts:
        """Return the values of a job pod's request that its answer does not repeat, with this worker configuration."""
        return RequestTexts(self.spec.config, self.spec.for_task(), worker)


def default_connect_name(namespace: str | None, name: str) -> str:
    """Return the Connect name without `spec.connectName`: `<namespace>.<name>`, or `<name>` without a namespace."""
    return f"{namespace}.{name}" if namespace else name


def _owned_properties(document: Mapping[str, Any]) -> list[Problem]:
    """Return problems of properties in `spec.config` that belong to a field of the resource."""
    spec = document.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    names = [name for name in config if name in OWNED] if isinstance(config, Mapping) else []
    return [Problem(f"spec.config.{n}", f"belongs to {OWNED[n]}; move it there") for n in names]
