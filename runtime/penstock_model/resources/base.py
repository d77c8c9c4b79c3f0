"""Base classes and field types of all resources: parts, object names, Kubernetes' metadata and conditions. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from penstock.errors import ConfigError
from penstock_model.resources.constraints import SCALAR_SCHEMA, AtMost, Mark, Matches
from penstock_model.resources.messages import field_problems
from penstock_model.resources.values import ConfigText

__all__ = [
    "API_VERSION",
    "Condition",
    "ConfigMapping",
    "Count",
    "Flag",
    "ObjectMeta",
    "ObjectName",
    "Part",
    "Resource",
    "StatusPart",
    "Text",
    "Time",
    "label",
]

API_VERSION: Final = "penstock.dev/v1alpha1"

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_IS_LABEL: Final = Matches(
    f"^{_LABEL}$", "must be lower case letters, digits and '-', and start and end with a letter or digit"
)
_IS_SUBDOMAIN: Final = Matches(
    rf"^{_LABEL}(\.{_LABEL})*$",
    "must be lower case letters, digits, '-' and '.', and start and end with a letter or digit",
)


class Part(BaseModel):
    """Part of a resource that users write. Unknown fields are rejected; names are in camelCase, as in Kubernetes."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Resource(Part):
    """Complete resource."""

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the resource in a parsed document.

        Raises:
            ConfigError: contains all problems, each with its field path (`spec.image`).
        """
        try:
            return cls.model_validate(document)
        except ValidationError as e:
            raise ConfigError(field_problems(cls, e)) from None


class StatusPart(BaseModel):
    """Part of a status. Unknown fields are ignored, since a newer operator may have written them."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    def to_manifest(self) -> dict[str, Any]:
        """Return the part as a mapping for a manifest, without fields that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def label(name: str) -> str:
    """Check that a name is a DNS label, and return it.

    Raises:
        ValueError: the name is not a DNS label; the message states the required form.
    """
    return _IS_LABEL.check(name)


Flag = Annotated[bool, Field(strict=True)]

ObjectName = Annotated[str, AtMost(253, least=1), _IS_SUBDOMAIN]
"""The name of a Kubernetes object."""

Text = Annotated[str, Matches(r"\S", "must not be empty"), AfterValidator(str.strip)]
"""A string that is not blank. Surrounding whitespace is removed."""

Time = Annotated[str, Mark(format="date-time")]
"""A time in Kubernetes' format: `2026-01-31T12:00:00Z`."""

Count = Annotated[int, Mark(format="int32")]
"""A number of objects, of the same type as Kubernetes' replicas."""

ConfigMapping = Annotated[dict[str, ConfigText], Mark(additionalProperties=SCALAR_SCHEMA)]
"""Flat properties: strings, numbers and booleans, which are converted to strings as in Kubernetes' JSON."""


class ObjectMeta(BaseModel):
    """Fields of Kubernetes' metadata that Penstock reads. Others are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    name: ObjectName
    namespace: Annotated[str, AfterValidator(label)] | None = Field(None, examples=["shop"])
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    uid: str | None = None
    generation: int = 1


class Condition(StatusPart):
    """Condition of a resource, with the fields of Kubernetes' own conditions."""

    type: str = Field(
        min_length=1,
        max_length=316,
        description="Type of the condition. kstatus, Flux and Argo CD read Ready, Reconciling and Stalled.",
    )
    status: Literal["True", "False", "Unknown"] = Field(
        description="Whether the condition is met: True, False or Unknown."
    )
    reason: str = Field(
        min_length=1,
        max_length=1024,
        pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        description="Machine-readable reason in CamelCase.",
    )
    message: str = Field(max_length=32768, description="Human-readable message with the cause and the remedy.")
    last_transition_time: Time = Field(description="When status last changed.")
    observed_generation: int | None = Field(
        None,
        ge=0,
        description="The metadata.generation that the condition describes. If it is lower than that of the resource, the "
        "condition may be out of date.",
    )
