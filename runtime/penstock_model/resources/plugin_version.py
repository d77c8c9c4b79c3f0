"""The `PluginVersion` resource: one version of one package of plugins, as an image (KIP-891's versions). Pure."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from penstock_model.resources.base import API_VERSION, ObjectMeta, Part, Resource, StatusPart
from penstock_model.resources.connector_status import Conditions
from penstock_model.resources.constraints import AtMost, Mark, Matches, list_of, rule, ruled

__all__ = [
    "PluginClass",
    "PluginVersion",
    "PluginVersionSpec",
    "PluginVersionStatus",
    "PublishedClass",
    "PublishedDefinitions",
]

_BY_DIGEST: Final = (
    "must be by digest, <repository>@sha256:<64 hex digits>: a tag can be moved to another image, and tasks of one "
    "version would run different code"
)
_HAS_ALL: Final = "has(self.plugin) && has(self.version) && has(self.classes)"
_UNIQUE: Final = "two classes have the same alias; aliases must be unique"
_OF_PYTHON: Final = "plugin, version and classes are required, unless runtime is Java"
_OF_JAVA: Final = "the jars contain the name and version of a Java plugin; remove plugin and version"
_ONE_VERSION: Final = "must be one version, such as 1.4.2; ranges belong to spec.version of a Connector"


class _ByDigest(Matches):
    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        # A CEL rule instead of a pattern, so that its message is the sentence.
        return {**handler(core), **ruled(rule(f"self.matches(r'{self.pattern}')", self.sentence))}


class PluginClass(Part):
    """One plugin of the package."""

    alias: Annotated[
        str, AtMost(128, least=1), Matches("^[A-Za-z0-9._-]+$", "must be letters, digits, '.', '_' and '-'")
    ] = Field(
        examples=["Files"],
        description="The name that configurations use, which is the name of the plugin's entry point. For Java plugins, the "
        "simple or full name of the class.",
    )
    type: Literal["source", "sink", "transform", "predicate", "converter", "headerConverter"] = Field(
        description="The kind of plugin."
    )
    java_names: Annotated[list[Annotated[str, AtMost(256, least=1)]], AtMost(8), Mark(**list_of("atomic"))] = Field(
        [],
        description="The classes of Kafka Connect that this plugin replaces; configurations may also use their names. For "
        "Java plugins, the name of the class, if alias is another name.",
    )


class PluginVersionSpec(Part):
    """The plugins and their image. Immutable."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule(
                "self == oldSelf",
                "is immutable, because tasks rely on it; create another PluginVersion with another name",
                reason="FieldValueForbidden",
            ),
            rule(f"self.runtime == 'Java' || ({_HAS_ALL})", _OF_PYTHON),
            rule("self.runtime != 'Java' || (!has(self.plugin) && !has(self.version))", _OF_JAVA),
        )
    )

    runtime: Literal["Python", "Java"] = Field(
        "Python",
        description="The runtime of the plugins. Java: unmodified plugins of Kafka Connect; a pod finds the classes in the "
        "jars of the image, and status.classes lists them.",
    )
    plugin: (
        Annotated[
            str,
            AtMost(63, least=1),
            Matches("^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", "must be letters, digits, '-', '_' and '.'"),
        ]
        | None
    ) = Field(
        None,
        examples=["files"],
        description="The name of the package of plugins, the same for all its versions. Not for Java plugins.",
    )
    version: Annotated[str, AtMost(128, least=1), Matches(r"^[^\s,()\[\]]+$", _ONE_VERSION)] | None = Field(
        None,
        examples=["1.4.2"],
        description="The version of the package and of all its classes. It is compared with ranges in Maven's order. "
        "Write it in quotes, because YAML reads 1.4 as a number. Not for Java plugins, whose classes have versions.",
    )
    image: Annotated[str, AtMost(512, least=1), _ByDigest(r"^[^@\s]+@sha256:[0-9a-f]{64}$", _BY_DIGEST)] = Field(
        examples=[f"registry.example/penstock-files@sha256:{'0' * 64}"],
        description="The image that contains the package, by digest. Tags are rejected, because a tag can be moved to "
        "another image.",
    )
    path: Annotated[str, AtMost(512, least=1), Matches(r"^/[^:]*$", "must be an absolute path without ':'")] = Field(
        "/plugin",
        description="The folder in the image that contains the package, as `pip install --target` writes it; for Java "
        "plugins, the folder with jars, or with a folder of jars for each plugin, as in Kafka Connect's plugin.path.",
    )
    classes: Annotated[
        list[PluginClass],
        AtMost(64, least=1),
        Mark(**list_of("map", "alias")),
    ] = Field(
        [],
        examples=[[{"alias": "Files", "type": "source"}]],
        description="All plugins in the image. Connectors refer to them by these names. A pod inspects the image before "
        "tasks run it, and rejects an image with other contents. For Java plugins, optional: classes that the image must "
        "contain, in addition to any others; status.classes has the names for configurations.",
    )

    @model_validator(mode="after")
    def _of_runtime(self) -> Self:
        if self.runtime == "Java":
            if self.plugin is not None or self.version is not None:
                raise ValueError(_OF_JAVA)
        elif self.plugin is None or self.version is None or not self.classes:
            raise ValueError(_OF_PYTHON)
        return self

    @model_validator(mode="after")
    def _unique(self) -> Self:
        if len({c.alias for c in self.classes}) < len(self.classes):
            raise ValueError(f"classes: {_UNIQUE}")
        return self


class PublishedClass(StatusPart):
    """One Java class in the image."""

    class_name: str = Field(alias="class", description="The full name of the class.")
    type: str = Field(description="The kind of plugin, as in spec.classes.")
    version: str = Field(description="The version of the class.")
    paths: Annotated[list[str], Mark(**list_of("atomic"))] = Field(
        description="The jars, or folders with jars, that contain the class, relative to spec.path."
    )


class PublishedDefinitions(StatusPart):
    """Location of the configuration definitions of the classes."""

    config_map: str = Field(description="The ConfigMap that contains them, compressed.")
    digest: str = Field(description="The SHA-256 of its content, sha256:<64 hex digits>.")


class PluginVersionStatus(StatusPart):
    """Status of a PluginVersion."""

    observed_generation: int = Field(
        default_factory=lambda: -1,
        description="The metadata.generation that this status describes; while it is lower than that of the resource, the "
        "change is being processed.",
    )
    conditions: Conditions | None = Field(
        None,
        description="Ready: a pod has verified that the image contains the declared plugins, and has imported them or, for "
        "Java plugins, found their classes. Reconciling: a pod inspects the image. Stalled: a user must change something.",
    )
    verified_by: str | None = Field(None, description="The runtime image that verified the plugins.")
    classes: Annotated[list[PublishedClass], Mark(**list_of("atomic"))] | None = Field(
        None, description="The classes in an image of Java plugins. Connectors refer to them by these names."
    )
    definitions: PublishedDefinitions | None = Field(
        None, description="The location of the configuration definitions of the classes."
    )
    used_by: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None,
        description="The Connectors that run this PluginVersion, at most 100. It may be deleted: their pods keep the image.",
    )


class PluginVersion(Resource):
    """One version of one package of plugins."""

    model_config = ConfigDict(title="PluginVersion")

    api_version: Literal["penstock.dev/v1alpha1"] = API_VERSION
    kind: Literal["PluginVersion"] = "PluginVersion"
    metadata: ObjectMeta = Field(examples=[{"name": "files-1.4.2"}])
    spec: PluginVersionSpec
    status: dict[str, Any] | None = None
