"""Faults of a Connector's own text, and of the objects that it names."""

from typing import Any, Final

from ...place import Connector
from ..fault import Fault, Says, Scene, Steps, orders, orders_of

__all__ = ["FAULTS"]

_POLICY: Final = {"topicCreationPolicyRef": {"name": "topics"}}


def _configured(**config: Any) -> Steps:
    return lambda scene: scene.connector.configure(**config)


def _policy(*topics: str, name: str = "topics") -> Steps:
    def made(scene: Scene) -> None:
        default = {"partitions": 1}
        spec = {"default": default, "limits": {"topics": [*topics]}}
        kind = {"apiVersion": "penstock.dev/v1alpha1", "kind": "TopicCreationPolicy", "metadata": {"name": name}}
        scene.place.apply({**kind, "spec": spec})

    return made


def _policy_goes(scene: Scene) -> None:
    scene.connector.kubectl("delete", "topiccreationpolicy", "topics")


def _with_policy(*topics: str) -> Any:
    def made(scene: Scene) -> Connector:
        _policy(*topics)(scene)
        return orders_of(**_POLICY)(scene)

    return made


def _client_id(scene: Scene) -> Connector:
    return orders(producer_override_client_id="${secret:kafka-client:id}")(scene)


def _client_id_of(**data: str) -> Any:
    def made(scene: Scene) -> Connector:
        scene.place.secret("kafka-client", **data)
        return _client_id(scene)

    return made


def _secret_goes(scene: Scene) -> None:
    scene.connector.kubectl("delete", "secret", "kafka-client")


def _twin(scene: Scene) -> Connector:
    first = scene.place.datagen("first", connectName=f"{scene.place.namespace}.twin")
    first.reaches("Running")
    scene.notes["first"] = first
    return orders_of(connectName=f"{scene.place.namespace}.twin")(scene)


def _sink_without_topics(scene: Scene) -> Connector:
    return scene.place.unapplied("copies", "FileStreamSink", {"file": "/tmp/out.txt"})


def _misspelt_template(scene: Scene) -> None:
    resources = {"requests": {"memory": "128Mi"}, "limit": {"memory": "1Gi"}}
    scene.connector.apply(template={"resources": resources})


def _spelt_template(scene: Scene) -> None:
    scene.connector.apply(template={"resources": {"limits": {"memory": "1Gi"}}})


def _with_its_own_name(scene: Scene) -> None:
    scene.connector.delete()
    del scene.connector.spec["connectName"]
    scene.connector.apply()


FAULTS: Final = (
    Fault(
        "a property has a wrong value",
        "`rate: fast`",
        Says("ConfigInvalid", ("rate",)),
        "correct the property",
        orders(rate="fast"),
        remove=_configured(rate=20),
        needs_user=True,
        is_quick=True,
    ),
    Fault(
        "a wrong edit of a connector that runs",
        "`rate: fast` is applied while tasks run",
        Says("ConfigInvalid", ("rate", "the tasks keep")),
        "correct the property; the tasks continue with the last good configuration",
        orders(),
        _configured(rate="fast"),
        _configured(rate=20),
        needs_user=True,
        halts=False,
    ),
    Fault(
        "a transform that does not exist",
        "`transforms.shout.type: Shuot`",
        Says("ConfigInvalid", ("Shuot",)),
        "correct the name; `penstock plugins` lists the available transforms",
        orders(transforms="shout", transforms_shout_type="Shuot"),
        remove=_configured(transforms=None, transforms_shout_type=None),
        needs_user=True,
    ),
    Fault(
        "a converter that does not exist",
        "`value.converter: JsonConvertor`",
        Says("ConfigInvalid", ("JsonConvertor", "JsonConverter")),
        "correct the name",
        orders(value_converter="JsonConvertor"),
        remove=_configured(value_converter="JsonConverter"),
        needs_user=True,
    ),
    Fault(
        "a class that does not exist",
        "`class: Datagenerator`",
        Says("ConfigInvalid", ("Class Datagenerator could not be found",)),
        "correct the class, or create the PluginVersion that contains it",
        lambda scene: scene.place.unapplied("orders", "Datagenerator", {"topic": f"{scene.place.namespace}.orders"}),
        remove=lambda scene: scene.connector.apply(**{"class": "Datagen"}),
        needs_user=True,
    ),
    Fault(
        "a sink without topics",
        "neither `topics` nor `topics.regex`",
        Says("ConfigInvalid", ("Must configure one of topics or topics.regex",)),
        "name the topics",
        _sink_without_topics,
        remove=lambda scene: scene.connector.configure(topics=_topic(scene)),
        needs_user=True,
    ),
    Fault(
        "a misspelt field of the pod template",
        "`resources.limit` in `spec.template`",
        Says("ConfigInvalid", ("spec.template.resources.limit", "pods have no such field")),
        "correct the field; the tasks continue with the last good configuration",
        orders(),
        _misspelt_template,
        _spelt_template,
        needs_user=True,
        halts=False,
        is_quick=True,
    ),
    Fault(
        "a property that a field owns",
        "`tasks.max` in `spec.config`",
        Says("ConfigInvalid", ("spec.config.tasks.max", "belongs to spec.tasksMax")),
        "use the field; the tasks continue with the last good configuration",
        orders(),
        _configured(tasks_max="2"),
        _configured(tasks_max=None),
        needs_user=True,
        halts=False,
    ),
    Fault(
        "a Secret is missing",
        "`spec.config` names a Secret that does not exist",
        Says("SecretMissing", ("Secret kafka-client is missing", "producer.override.client.id")),
        "create the Secret; the connector starts automatically",
        _client_id,
        remove=lambda scene: scene.place.secret("kafka-client", id="e2e"),
        is_quick=True,
    ),
    Fault(
        "a key of a Secret is missing",
        "`spec.config` names a key that the Secret does not have",
        Says("SecretMissing", ("Secret kafka-client has no key id",)),
        "add the key; the connector starts automatically",
        _client_id_of(other="x"),
        remove=lambda scene: scene.place.secret("kafka-client", id="e2e", other="x"),
    ),
    Fault(
        "a Secret is deleted",
        "the Secret of a connector that runs is deleted",
        Says("SecretMissing", ("Secret kafka-client is missing",)),
        "create the Secret again; running tasks continue",
        _client_id_of(id="e2e"),
        _secret_goes,
        lambda scene: scene.place.secret("kafka-client", id="e2e"),
        halts=False,
    ),
    Fault(
        "a policy is missing",
        "`spec.topicCreationPolicyRef` names a policy that does not exist",
        Says("PolicyMissing", ("topics",)),
        "create the policy; the connector starts automatically",
        orders_of(**_POLICY),
        remove=_policy(".*"),
    ),
    Fault(
        "a policy forbids the topic",
        "`limits.topics` of the policy does not match a source's topic",
        Says("TasksFailed", ("limits.topics of the TopicCreationPolicy topics", "cannot create topic")),
        "write to another topic, or have the limit widened; the connector starts automatically",
        _with_policy("other"),
        remove=_policy(".*"),
        watched=60,
    ),
    Fault(
        "a policy is deleted",
        "the policy of a connector that runs is deleted",
        Says("PolicyMissing", ("topics",), kind="UpdatePending", status="True"),
        "create the policy again; the tasks continue with its last rules",
        _with_policy(".*"),
        _policy_goes,
        _policy(".*"),
        halts=False,
    ),
    Fault(
        "two connectors with one name in Kafka",
        "`spec.connectName` is the name of an older Connector",
        Says("NameConflict", ("first",)),
        "rename one of them",
        _twin,
        remove=lambda scene: scene.notes["first"].delete(),
    ),
    Fault(
        "a name in Kafka that is reserved for another namespace",
        "`spec.connectName` begins with another namespace and a dot",
        Says("NameReserved", ("default.orders",)),
        "create the Connector with another name, or have the platform team allow it (`allowedConnectNames`)",
        orders_of(connectName="default.orders"),
        remove=_with_its_own_name,
        needs_user=True,
    ),
)


def _topic(scene: Scene) -> str:
    topic = f"{scene.place.namespace}.in"
    scene.world.kafka.create(topic)
    return topic
