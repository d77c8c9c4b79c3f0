"""Spec of a Connector. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from penstock_model.resources.autoscaling import Autoscaling
from penstock_model.resources.base import ConfigMapping, Text
from penstock_model.resources.connector_parts import MOST, Deletion, Reference, Restart, Rollout
from penstock_model.resources.constraints import AtMost, rule, ruled
from penstock_model.resources.pod_template import TEMPLATE_TEXT, Template
from penstock_model.resources.task_settings import TaskSettings

__all__ = ["OWNED", "ConnectorSpec", "State"]

OWNED: Final[Mapping[str, str]] = {
    "connector.class": "spec.class",
    "connector.plugin.version": "spec.version",
    "name": "metadata.name (or spec.connectName, to keep a name of Kafka Connect)",
    "tasks.max": "spec.tasksMax",
}
"""Properties of Kafka Connect for which the resource has a field, with that field."""


class State(StrEnum):
    """The target state of a connector."""

    RUNNING = "Running"
    PAUSED = "Paused"
    STOPPED = "Stopped"


def _version(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise ValueError(f'must be a string; write "{value}" in quotes, because YAML reads it as a number')  # noqa: TRY004
    return value


class ConnectorSpec(TaskSettings):
    """The spec of a Connector. `TaskSettings` has the fields that its tasks read."""

    model_config = ConfigDict(
        json_schema_extra=ruled(
            rule(
                "has(self.connectName) == has(oldSelf.connectName)"
                " && (!has(self.connectName) || self.connectName == oldSelf.connectName)",
                "is immutable, because offsets and consumer group would remain under the previous name; delete the "
                "Connector (deletion.offsets: Keep keeps its offsets) and create it with the new name",
                path=".connectName",
                reason="FieldValueForbidden",
            )
        )
    )

    class_name: Annotated[Text, AtMost(512)] = Field(
        alias="class",
        examples=["FileStreamSource"],
        description="The connector plugin: an alias such as FileStreamSource, the fully qualified name of a Python class, "
        "or the Java class name of a Kafka Connect connector that a PluginVersion contains or for which Penstock has an "
        "equivalent.",
    )
    version: Annotated[str, AtMost(256), BeforeValidator(_version)] | None = Field(
        None,
        examples=["[1.2,2.0)"],
        description="The version of the plugin, as a Maven range: [1.2,2.0) is 1.2 or newer but below 2.0; a bare 1.2 is "
        'exactly that version. When absent, the newest. Write it in quotes ("1.2"), because YAML reads 1.2 as a number. '
        "The chosen version is kept until this field or class changes, or annotation penstock.dev/restart requests a "
        "restart.",
    )
    tasks_max: int = Field(
        1,
        ge=1,
        le=MOST,
        strict=True,
        description="The maximum number of tasks; each is a pod. A connector may create fewer. kubectl scale, horizontal "
        "autoscalers and KEDA set it; if one does, omit it from the manifest in Git. With autoscaling, it is the "
        "initial number of tasks, and a change sets the number again, both within autoscaling.min and max. To have no "
        "tasks, set state: Stopped.",
    )
    autoscaling: Autoscaling | None = Field(
        None,
        examples=[{"targetLagSeconds": 60, "max": 6}],
        description="The operator chooses the number of tasks of a sink by its lag, between min and max. For a source, "
        "whose lag is unknown, the number is tasksMax, within min and max. When absent, it is tasksMax. Do not combine it "
        "with an autoscaler that sets tasksMax. Changing the number restarts all tasks.",
    )
    state: State = Field(
        State.RUNNING,
        description="Running: tasks move records. Paused: tasks remain but move no records, and can resume immediately. "
        "Stopped: there are no tasks; configuration and offsets remain, and offsets can be altered or reset.",
    )
    config: ConfigMapping = Field(
        {},
        examples=[{"file": "/data/orders.jsonl", "topic": "orders"}],
        description="The connector's configuration, as in Kafka Connect: flat properties whose values are strings, integers "
        "or booleans. Put numbers with a fraction and integers beyond 2^53 in quotes, because the API server changes them. "
        "Write lists as a,b,c. It contains the properties of the plugin, and of converters, transforms and predicates, "
        "errors.* and topic.creation.*. Write secrets as ${secret:<name>:<key>}, which refers to a key of a Secret of this "
        "namespace and is resolved only in the connector's pods; at most 256 Secrets. connector.class, "
        "connector.plugin.version, tasks.max and name are rejected here: they are fields of this "
        "resource (class, version, tasksMax, metadata.name).",
    )
    topic_creation_policy_ref: Reference | None = Field(
        None,
        examples=[{"name": "shop-topics"}],
        description="The TopicCreationPolicy of this namespace with the rules for creating a source's topics. If it has "
        "rules, the connector may set topic.creation.* only if its overridePolicy is Allow. Without it, or if it has only "
        "limits, the rules are those of a policy whose connectorSelector selects the Connector, else topic.creation.*; "
        "without rules and limits, the brokers create the topics. It has no effect on sinks.",
    )
    restart: Restart = Field(
        Restart(),
        examples=[{"maxRestarts": 10}],
        description="Restarts of failed tasks. Lost pods (a lost node, out of memory) are always replaced, and counted "
        "separately.",
    )
    rollout: Rollout = Field(Rollout(), description="How tasks change to other plugin versions.")
    deletion: Deletion = Field(Deletion(), description="Whether offsets are kept when this resource is deleted.")
    on_secret_change: Literal["Restart", "Ignore"] = Field(
        "Restart",
        description="The reaction to a changed key of a Secret that config refers to: Restart the tasks, or Ignore it until "
        "they start for another reason.",
    )
    template: Template = Field({}, examples=[{"nodeSelector": {"disk": "ssd"}}], description=TEMPLATE_TEXT)
    connect_name: Annotated[Text, AtMost(255)] | None = Field(
        None,
        examples=["Orders_In"],
        description="The name in Kafka of its consumer group (connect-<name>), offsets and status, for a connector that is "
        "migrated from Kafka Connect and keeps its position. When absent, <namespace>.<name>. It can only be set when the "
        "resource is created.",
    )
