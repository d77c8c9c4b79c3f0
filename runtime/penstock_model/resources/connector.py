"""The `Connector` resource (`penstock.dev/v1alpha1`), the same for the operator and for `penstock run`. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, PrivateAttr

from penstock.errors import ConfigError, Problem
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
]

NAME_LENGTH: Final = 45
"""So that pod names `<connector>-<task>-<incarnation>` and labels keep to Kubernetes' 63."""

UNNAMED: Final = "unnamed"
"""In a draft, of a resource without a name, or with a wrong one."""


def _connector_name(name: str) -> str:
    if len(name) > NAME_LENGTH:
        raise ValueError(f"has {len(name)} characters; at most {NAME_LENGTH} are allowed, so that pod names fit")
    return label(name)


class Metadata(ObjectMeta):
    """A connector's metadata."""

    name: Annotated[str, AfterValidator(_connector_name)] = Field(examples=["orders-in"])


class Connector(Part):
    """One connector."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule(
                f"self.metadata.name.size() <= {NAME_LENGTH}",
                f"is too long; at most {NAME_LENGTH} characters are allowed, so that pod names fit",
                path=".metadata.name",
            ),
            rule(
                "!self.metadata.name.contains('.')",
                "must be lower case letters, digits and '-', and begin and end with a letter or digit",
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
        """The resource in a parsed document.

        Raises:
            ConfigError: every problem at once, each under its field path (`spec.config.file`).
        """
        found = cls.draft(document)
        if found.reading.problems:
            raise ConfigError(found.reading.problems)
        return found

    @classmethod
    def draft(cls, document: Mapping[str, Any]) -> Self:
        """The resource as far as it can be read: what is wrong is left out, and stands in `reading.problems`.

        For a check that is to tell everything at once (`penstock_runtime.plan` refuses a draft with flaws, with what it
        finds in the rest).

        Raises:
            ConfigError: nothing can be made of it.
        """
        owned = _owned(document)
        config = document["spec"]["config"] if owned else {}
        class_name = config.get("connector.class")
        needed = {
            ("metadata",): {"name": UNNAMED},
            ("metadata", "name"): UNNAMED,
            ("spec",): {"class": PLACEHOLDER},
            ("spec", "class"): class_name if isinstance(class_name, str) and class_name.strip() else PLACEHOLDER,
        }
        found, flaws = read_partially(cls, document, needed)
        if owned:
            rest = {name: text for name, text in found.spec.config.items() if name not in OWNED}
            found = found.model_copy(update={"spec": found.spec.model_copy(update={"config": rest})})
        return found.with_reading(Reading(problems=(*flaws, *owned)))

    @property
    def reading(self) -> Reading:
        """What is known of the text that this was read from."""
        return self._reading

    def with_reading(self, reading: Reading) -> Self:
        """The same resource, with this in the place of what was known."""
        other = self.model_copy()
        other._reading = reading  # noqa: SLF001 (its own class)
        return other

    @property
    def connect_name(self) -> str:
        """The name in Kafka: of the consumer group, of status and offsets keys."""
        if self.spec.connect_name is not None:
            return self.spec.connect_name
        return f"{self.metadata.namespace}.{self.metadata.name}" if self.metadata.namespace else self.metadata.name


def _owned(document: Mapping[str, Any]) -> list[Problem]:
    spec = document.get("spec")
    config = spec.get("config") if isinstance(spec, Mapping) else None
    names = [name for name in config if name in OWNED] if isinstance(config, Mapping) else []
    return [Problem(f"spec.config.{n}", f"belongs to {OWNED[n]}; move it there") for n in names]
