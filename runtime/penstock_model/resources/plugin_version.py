"""The `PluginVersion` resource: one version of one package of plugins, as an image (KIP-891's versions). Pure."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from penstock_model.resources.base import API_VERSION, ObjectMeta, Part, Resource, StatusPart
from penstock_model.resources.connector_status import Conditions
from penstock_model.resources.constraints import AtMost, Mark, Matches, list_of, rule, ruled

__all__ = ["PluginClass", "PluginVersion", "PluginVersionSpec", "PluginVersionStatus"]

_BY_DIGEST: Final = (
    "must be by digest, <repository>@sha256:<64 hex digits>: a tag can be moved to another image, and tasks of one "
    "version would run different code"
)
_UNIQUE: Final = "two classes have the same alias; aliases must be unique"
_ONE_VERSION: Final = "must be one version, such as 1.4.2; ranges belong to spec.version of a Connector"


class _ByDigest(Matches):
    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        # CEL in the place of a pattern: its message is the sentence.
        return {**handler(core), **ruled(rule(f"self.matches(r'{self.pattern}')", self.sentence))}


class PluginClass(Part):
    """One plugin of the package."""

    alias: Annotated[
        str, AtMost(128, least=1), Matches("^[A-Za-z0-9._-]+$", "must be letters, digits, '.', '_' and '-'")
    ] = Field(examples=["Files"], description="The name by which configurations name it: that of its entry point.")
    type: Literal["source", "sink", "transform", "predicate", "converter", "headerConverter"] = Field(
        description="What it is."
    )
    java_names: Annotated[list[Annotated[str, AtMost(256, least=1)]], AtMost(8), Mark(**list_of("atomic"))] = Field(
        [], description="The classes of Kafka Connect that it stands in for."
    )


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
        description="Its version, which ranges are compared with in Maven's order; all classes in it have this version. "
        "Write it in quotes, since YAML reads 1.4 as a number.",
    )
    image: Annotated[str, AtMost(512, least=1), _ByDigest(r"^[^@\s]+@sha256:[0-9a-f]{64}$", _BY_DIGEST)] = Field(
        examples=[f"registry.example/penstock-files@sha256:{'0' * 64}"],
        description="The image that holds it, by digest; a tag is refused, since it can be moved to another image.",
    )
    path: Annotated[str, AtMost(512, least=1), Matches(r"^/[^:]*$", "must be an absolute path without ':'")] = Field(
        "/plugin", description="The folder in the image that holds the package, as `pip install --target` writes it."
    )
    classes: Annotated[
        list[PluginClass],
        AtMost(64, least=1),
        Mark(
            **list_of("atomic"),
            **ruled(rule("self.all(c, self.exists_one(d, d.alias == c.alias))", _UNIQUE)),
        ),
    ] = Field(
        examples=[[{"alias": "Files", "type": "source"}]],
        description="The plugins that the image holds, all of them. Connectors find it by these names; a pod looks into the "
        "image before tasks run it, and refuses one that holds something else.",
    )

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len({c.alias for c in self.classes}) < len(self.classes):
            raise ValueError(f"classes: {_UNIQUE}")
        return self


class PluginVersionStatus(StatusPart):
    """What the operator sees."""

    observed_generation: int = Field(
        default_factory=lambda: -1,
        description="The metadata.generation that this status is of; behind it, the resource is still being looked at.",
    )
    conditions: Conditions | None = Field(
        None, description="Ready: a pod has seen that the image holds what is declared, and has imported it."
    )
    verified_by: str | None = Field(None, description="The runtime image that has looked into it.")
    used_by: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None, description="The Connectors that run it, at most 100. It may be deleted: their pods keep the image."
    )


class PluginVersion(Resource):
    """One version of one package of plugins."""

    model_config = ConfigDict(title="PluginVersion")

    api_version: Literal["penstock.dev/v1alpha1"] = API_VERSION
    kind: Literal["PluginVersion"] = "PluginVersion"
    metadata: ObjectMeta = Field(examples=[{"name": "files-1.4.2"}])
    spec: PluginVersionSpec
    status: dict[str, Any] | None = None
