"""`TopicCreationPolicy` resource: how topics of sources are created (KIP-158), for all connectors of a team. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from penstock.rules import java_regex
from penstock_java_compat.regex.cost import too_costly
from penstock_model.resources.base import API_VERSION, ConfigMapping, Count, ObjectMeta, Part, Resource, StatusPart
from penstock_model.resources.connector_status import Conditions
from penstock_model.resources.constraints import AtMost, Mark, Matches, list_of, rule, ruled

__all__ = [
    "ConnectorSelector",
    "TopicCreationPolicy",
    "TopicCreationPolicySpec",
    "TopicCreationPolicyStatus",
    "TopicDefaults",
    "TopicGroup",
    "TopicLimits",
]

_MOST: Final = 2**31 - 1
_MOST_REPLICAS: Final = 2**15 - 1
_NONE_OR_POSITIVE: Final = "must be -1 for the broker's default, or at least 1"
_UNIQUE: Final = "two groups have the same name; names must be unique"
_WITH_DEFAULT: Final = (
    "require default, which applies to values that groups do not set, and to topics that no group matches"
)
_EMPTY: Final = "has neither rules (default, groups) nor limits, and would have no effect; add default or limits"
_VALUES: Final = "must have values with In and NotIn, and none with Exists and DoesNotExist"
_SETS: Final = ("In", "NotIn")
_NO_DEFAULT: Final = (
    "The broker's default (-1, or an absent value in default) is refused, because it is not known in advance. When absent, "
    "no limit."
)


def _not_zero(number: int) -> int:
    if number == 0:
        raise ValueError(_NONE_OR_POSITIVE)
    return number


_COUNT: Final = Mark(**ruled(rule("self != 0", _NONE_OR_POSITIVE)))
Partitions = Annotated[int, Field(ge=-1, le=_MOST, strict=True), AfterValidator(_not_zero), _COUNT]
Replicas = Annotated[int, Field(ge=-1, le=_MOST_REPLICAS, strict=True), AfterValidator(_not_zero), _COUNT]


def _is_affordable(pattern: str) -> str:
    if (why := too_costly(pattern)) is not None:
        raise ValueError(f"{why}; simplify it")
    return pattern


TopicPattern = Annotated[str, AtMost(1024, least=1), AfterValidator(_is_affordable), java_regex]
"""A Java regular expression, or a plain name. It must match the whole name of a topic."""

_PATTERN: Final = "Java regular expressions (or plain names) that must match the whole name of a topic"


class TopicDefaults(Part):
    """Settings of topics that no group matches, and of groups that do not set them."""

    replication_factor: int | None = Field(
        None,
        ge=1,
        le=_MOST_REPLICAS,
        strict=True,
        description="The number of replicas. When absent, the broker's default.",
    )
    partitions: int | None = Field(
        None, ge=1, le=_MOST, strict=True, description="The number of partitions. When absent, the broker's default."
    )
    config: ConfigMapping = Field(
        {}, description="Settings of the topic, such as retention.ms. When absent, the broker's defaults."
    )


class TopicGroup(Part):
    """Topics with the same settings."""

    name: Annotated[
        str, AtMost(64, least=1), Matches("^[A-Za-z0-9._-]+$", "must be letters, digits, '.', '_' and '-'")
    ] = Field(description="The name of the group, used in messages. Must be unique.")
    include: Annotated[list[TopicPattern], AtMost(64, least=1), Mark(**list_of("atomic"))] = Field(
        description=f"The topics of the group, as {_PATTERN}. At least one must match."
    )
    exclude: Annotated[list[TopicPattern], AtMost(64), Mark(**list_of("atomic"))] = Field(
        [], description=f"Exceptions from include, as {_PATTERN}."
    )
    replication_factor: Replicas | None = Field(
        None,
        description="The number of replicas. When absent, the value in default; -1 is the broker's default, regardless of "
        "the policy's default.",
    )
    partitions: Partitions | None = Field(
        None,
        description="The number of partitions. When absent, the value in default; -1 is the broker's default, regardless of "
        "the policy's default.",
    )
    config: ConfigMapping = Field({}, description="Settings of the topic; the settings in default do not apply.")


class TopicLimits(Part):
    """Limits for the connectors that the policy applies to."""

    max_partitions: int | None = Field(
        None,
        ge=1,
        le=_MOST,
        strict=True,
        description=f"The maximum number of partitions of a topic. {_NO_DEFAULT}",
    )
    min_replication_factor: int | None = Field(
        None,
        ge=1,
        le=_MOST_REPLICAS,
        strict=True,
        description=f"The minimum number of replicas of a topic. {_NO_DEFAULT}",
    )
    topics: Annotated[list[TopicPattern], AtMost(64, least=1), Mark(**list_of("atomic"))] | None = Field(
        None, description=f"The only topics that may be created, as {_PATTERN}. When absent, any."
    )
    config: Annotated[list[Annotated[str, AtMost(256, least=1)]], AtMost(256), Mark(**list_of("atomic"))] | None = (
        Field(
            None,
            description="The only settings that topics may be created with, such as cleanup.policy, whether a connector or "
            "a policy (including this one) sets them. When absent, any; when empty, none.",
        )
    )


class SelectorRequirement(Part):
    """One requirement of a label selector."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule("(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)", _VALUES)
        )
    )

    key: Annotated[str, AtMost(317, least=1)] = Field(description="The key of the label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="How the label is compared.")
    values: Annotated[list[Annotated[str, AtMost(63)]], AtMost(64), Mark(**list_of("atomic"))] = Field(
        [], description="The values to compare with, for In and NotIn."
    )

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if (self.operator in _SETS) != bool(self.values):
            raise ValueError(_VALUES)
        return self

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the requirement. An absent label is in no set."""
        if self.operator in _SETS:
            return (labels.get(self.key) in self.values) == (self.operator == "In")
        return (self.key in labels) == (self.operator == "Exists")


class ConnectorSelector(Part):
    """Selector of Connectors by labels, like Kubernetes' selectors of pods."""

    model_config = ConfigDict(json_schema_extra={"x-kubernetes-map-type": "atomic"})

    match_labels: dict[str, str] = Field({}, description="Labels that a Connector must have.")
    match_expressions: Annotated[list[SelectorRequirement], AtMost(64), Mark(**list_of("atomic"))] = Field(
        [], description="Requirements for its labels. All of them must be met."
    )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it selects an object with these labels. An empty selector selects every object."""
        own = self.match_labels.items()
        return all(labels.get(n) == t for n, t in own) and all(e.admits(labels) for e in self.match_expressions)


class TopicCreationPolicySpec(Part):
    """The rules and limits of a TopicCreationPolicy."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule("has(self.default) || !has(self.groups) || size(self.groups) == 0", _WITH_DEFAULT, path=".groups"),
            rule("has(self.default) || has(self.limits)", _EMPTY),
        )
    )

    default: TopicDefaults | None = Field(
        None,
        examples=[{"partitions": 3}],
        description="Settings of topics that no group matches, and defaults of groups. Without it the policy has only "
        "limits, for topics that other rules create.",
    )
    groups: Annotated[
        list[TopicGroup],
        AtMost(64),
        Mark(
            **list_of("atomic"),
            **ruled(rule("self.all(g, self.exists_one(h, h.name == g.name))", _UNIQUE)),
        ),
    ] = Field([], description="Topics with other settings. Only the first group that matches applies.")
    limits: TopicLimits | None = Field(
        None,
        description="Limits for the connectors that the policy applies to, regardless of where the values are set.",
    )
    connector_selector: ConnectorSelector | None = Field(
        None,
        description="Selects Connectors of this namespace to which the policy applies even if their "
        "spec.topicCreationPolicyRef does not name it. Its limits apply to all of them, its rules only to those that do not "
        "name a policy with rules. When absent, it applies only to those that name it; {} selects all.",
    )
    override_policy: Literal["Forbid", "Allow"] = Field(
        "Forbid",
        description="Allow: a connector whose rules come from this policy may set topic.creation.* itself, which replaces "
        "all rules; the limits still apply. Forbid: a connector that sets them is rejected.",
    )

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [group.name for group in self.groups]
        if len(set(names)) < len(names):
            raise ValueError(f"groups: {_UNIQUE}")
        return self

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.default is None and self.groups:
            raise ValueError(f"groups: {_WITH_DEFAULT}")
        if self.default is None and self.limits is None:
            raise ValueError(_EMPTY)
        return self


class TopicCreationPolicyStatus(StatusPart):
    """Status of a TopicCreationPolicy."""

    observed_generation: int = Field(
        default_factory=lambda: -1,
        description="The metadata.generation that this status describes; while it is lower than that of the resource, a "
        "change is being processed.",
    )
    conditions: Conditions | None = Field(
        None,
        description="Ready: the rules and limits are valid. Otherwise running connectors keep the last valid ones, and "
        "others wait. Stalled: a user must correct them. Reconciling is always False.",
    )
    connectors: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None, description="The Connectors of this namespace that the policy applies to, by name; at most 100."
    )
    connector_count: Count | None = Field(None, description="The number of Connectors that the policy applies to.")


class TopicCreationPolicy(Resource):
    """Rules for creating the topics of sources."""

    model_config = ConfigDict(title="TopicCreationPolicy")

    api_version: Literal["penstock.dev/v1alpha1"] = API_VERSION
    kind: Literal["TopicCreationPolicy"] = "TopicCreationPolicy"
    metadata: ObjectMeta = Field(examples=[{"name": "shop-topics"}])
    spec: TopicCreationPolicySpec = Field(examples=[{"default": {"partitions": 3}}])
    status: dict[str, Any] | None = None
