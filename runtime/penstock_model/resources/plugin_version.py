"""The `PluginVersion` resource: one version of one package of plugins, as an image (KIP-891's versions). Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, ValidationError

from penstock.errors import ConfigError
from penstock_model.resources.base import API_VERSION, ObjectMeta, Part, StatusPart
from penstock_model.resources.connector_status import Conditions
from penstock_model.resources.constraints import AtMost, Mark, Matches, list_of, rule, ruled
from penstock_model.resources.messages import field_problems

__all__ = ["PluginClass", "PluginProperty", "PluginVersion", "PluginVersionSpec", "PluginVersionStatus"]

_BY_DIGEST: Final = (
    "must be by digest, <repository>@sha256:<64 hex digits>: a tag can be moved to another image, and tasks of one "
    "version would run different code"
)
_ONE_VERSION: Final = "must be one version, such as 1.4.2; ranges belong to spec.version of a Connector"


class _ByDigest(Matches):
    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        # CEL in the place of a pattern: its message is the sentence.
        return {**handler(core), **ruled(rule(f"self.matches(r'{self.pattern}')", self.sentence))}


class PluginVersionSpec(Part):
    """What the plugins are and where they come from. It never changes."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule(
                "self == oldSelf",
                "a PluginVersion never changes, since tasks rely on it; create another one with another name",
                reason="FieldValueForbidden",
            )
        )
    )

    plugin: Annotated[
        str,
        AtMost(63, least=1),
        Matches("^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", "must be letters, digits, '-', '_' and '.'"),
    ] = Field(examples=["files"], description="The name of the package of plugins, the same for all its versions.")
    version: Annotated[str, AtMost(128, least=1), Matches(r"^[^\s,()\[\]]+$", _ONE_VERSION)] = Field(
        examples=["1.4.2"],
        description="Its version, which ranges are compared with in Maven's order. Classes in it may have versions of "
        "their own; status.classes tells. Write it in quotes, since YAML reads 1.4 as a number.",
    )
    image: Annotated[str, AtMost(512, least=1), _ByDigest(r"^[^@\s]+@sha256:[0-9a-f]{64}$", _BY_DIGEST)] = Field(
        examples=[f"registry.example/penstock-files@sha256:{'0' * 64}"],
        description="The image that holds it, by digest; a tag is refused, since it can be moved to another image.",
    )
    path: Annotated[str, AtMost(512, least=1), Matches(r"^/[^:]*$", "must be an absolute path without ':'")] = Field(
        "/plugin", description="The folder in the image that holds the plugins."
    )


class PluginProperty(StatusPart):
    """One property of a plugin's configuration."""

    name: str = Field(description="The property.")
    type: str = Field(description="Kafka Connect's word for what it holds: STRING, INT, LIST, PASSWORD and so on.")
    default: str | None = Field(None, description="What it is when not set; absent when there is no default.")
    required: bool | None = Field(None, description="Whether it must be set.")
    importance: Literal["HIGH", "MEDIUM", "LOW"] | None = Field(None, description="How much it matters to most users.")
    doc: str | None = Field(None, description="What it does.")
    group: str | None = Field(None, description="The group that it belongs to.")
    order: int | None = Field(None, description="Its place in the group.")
    width: str | None = Field(None, description="How wide a form shows it.")
    display_name: str | None = Field(None, description="What a form calls it.")
    dependents: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None, description="The properties whose meaning depends on it."
    )


class PluginClass(StatusPart):
    """One plugin."""

    class_name: str = Field(alias="class", description="The class.")
    type: Literal["source", "sink", "transform", "predicate", "converter", "headerConverter"] = Field(
        description="What it is."
    )
    aliases: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None, description="Shorter names for it that configurations may use."
    )
    version: str | None = Field(None, description="Its version.")
    config: Annotated[list[PluginProperty], Mark(**list_of("atomic"))] | None = Field(
        None, description="The properties of its configuration."
    )


class PluginVersionStatus(StatusPart):
    """What the operator found in the image, and who uses it."""

    observed_generation: int = Field(
        default_factory=lambda: -1,
        description="The metadata.generation that this status is of; behind it, the image is still being looked at.",
    )
    conditions: Conditions | None = Field(
        None, description="Ready: the image was inspected, and its plugins are known."
    )
    classes: Annotated[list[PluginClass], Mark(**list_of("atomic"))] | None = Field(
        None, description="The plugins in it."
    )
    used_by: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None,
        description="The Connectors that run it: names of this namespace, <namespace>/<name> of others. It cannot "
        "vanish while there are any.",
    )


class PluginVersion(Part):
    """One version of one package of plugins."""

    model_config = ConfigDict(title="PluginVersion")

    api_version: Literal["penstock.dev/v1alpha1"] = API_VERSION
    kind: Literal["PluginVersion"] = "PluginVersion"
    metadata: ObjectMeta = Field(examples=[{"name": "files-1.4.2"}])
    spec: PluginVersionSpec
    status: dict[str, Any] | None = None

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """The resource in a parsed document.

        Raises:
            ConfigError: holds all problems, each with its field path (`spec.image`).
        """
        try:
            return cls.model_validate(document)
        except ValidationError as e:
            raise ConfigError(field_problems(cls, e)) from None
