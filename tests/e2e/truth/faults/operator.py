"""Faults of the operator, of its release, and of its way to Kafka."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...cluster import Failed
from ...place import Connector, Place
from ...release import Release
from ..fault import Fault, Refused, Says, Scene, Steps, orders
from .kafka import cut_off

__all__ = ["FAULTS"]

_JAAS: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'


def _operator_is_away(scene: Scene) -> None:
    """Send the operator away, kill a task meanwhile, and call it back."""
    scene.ends.callback(scene.world.release.scale, 1)
    scene.world.release.scale(0)
    scene.connector.kill()
    scene.world.release.scale(1)


def _operator_is_cut_off(scene: Scene) -> None:
    scene.notes["uid"] = scene.world.release.operator()["metadata"]["uid"]
    cut_off(scene, scene.notes["uid"], on=True)


def _operator_is_back(scene: Scene) -> None:
    cut_off(scene, scene.notes["uid"], on=False)


def _second(worker: Callable[[Scene], Mapping[str, Any]], **values: Any) -> Callable[[Scene], Connector]:
    """A source in a namespace that a second release watches, with these settings, while the first one has no operator."""

    def made(scene: Scene) -> Connector:
        world = scene.world
        scene.ends.callback(world.release.scale, 1)
        world.release.scale(0)
        name = f"second-{secrets.token_hex(2)}"
        release = Release(world.cluster, world.namespaces(name), name)
        scene.ends.callback(world.cluster.delete_namespaces, release.namespace)
        scene.ends.callback(release.uninstall)
        scene.ends.callback(world.cluster.delete_namespaces, scene.place.namespace, wait=True)
        scene.notes["release"] = release
        scene.notes["system"] = Place(world.cluster, world.kafka, release.namespace)
        topics = {"offset.storage.topic": f"{name}-offsets", "status.storage.topic": f"{name}-status"}
        scene.notes["worker"] = {"group.id": name, **topics, **worker(scene)}
        scene.notes["values"] = {"crds": {"install": False}, "watchNamespaces": [scene.place.namespace], **values}
        release.install(scene.notes["worker"], **scene.notes["values"])
        return orders()(scene)

    return made


def _upgraded(worker: Callable[[Scene], Mapping[str, Any]], **values: Any) -> Steps:
    def done(scene: Scene) -> None:
        whole = {**scene.notes["values"], **values}
        scene.notes["release"].install({**scene.notes["worker"], **worker(scene)}, **whole)

    return done


def _servers(scene: Scene) -> dict[str, Any]:
    return {"bootstrap.servers": scene.world.kafka.servers}


def _nowhere(scene: Scene) -> dict[str, Any]:
    return {"bootstrap.servers": f"nowhere.{scene.world.kafka.namespace}.svc:9092"}


def _with_password(scene: Scene) -> dict[str, Any]:
    scene.notes["system"].secret("kafka-client", jaas=_JAAS.format("admin", "admin-secret"))
    return {
        "bootstrap.servers": scene.world.kafka.with_passwords,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "${secret:kafka-client:jaas}",
    }


def _login(user: str, password: str) -> Steps:
    return lambda scene: scene.place.secret("kafka-client", jaas=_JAAS.format(user, password))


def _second_as(user: str, password: str) -> Callable[[Scene], Connector]:
    """A source in a namespace whose Secret of the worker configuration has this user and password."""

    def made(scene: Scene) -> Connector:
        found = _second(_with_password, workerSecretName="kafka-client")(scene)
        _login(user, password)(scene)
        return found

    return made


def _wrong_value(scene: Scene) -> None:
    """Upgrade the release with a wrong value; why that fails is in the status of the new operator's pod."""
    release = scene.world.release
    try:
        release.change_worker("connector.client.config.override.policy", "Whatever")
    except Failed as e:
        containers = [c for pod in release.operators() for c in pod["status"]["containerStatuses"]]
        ends = [c["lastState"].get("terminated") or c["state"].get("terminated") or {} for c in containers]
        raise Failed("\n".join(end.get("message", "") for end in ends)) from e


_MISSING: Final = {"runtime": {"repository": "registry.invalid/penstock-runtime", "tag": "9"}}

FAULTS: Final = (
    Fault(
        "the operator is down while a task is lost",
        "the operator has no replicas, or its node is lost, and a task is killed during this time",
        Says("TasksLost|Starting|Restarting|Preparing", ("signal 9",)),
        "restore the operator; until then, statuses are out of date, so alert on its metric `up`",
        orders(),
        _operator_is_away,
        is_alone=True,
    ),
    Fault(
        "the operator is cut off from Kafka",
        "a network policy drops what the operator's pod sends to the brokers",
        Says("KafkaUnavailable", ("Kafka",), status="Unknown"),
        "restore the operator's access to Kafka; running tasks continue",
        orders(),
        _operator_is_cut_off,
        _operator_is_back,
        halts=False,
        is_alone=True,
    ),
    Fault(
        "an upgrade of the release with a wrong value",
        "`helm upgrade --wait` with a worker property that has a wrong value",
        Refused(("worker.connector.client.config.override.policy",), "the status of the new operator's pod"),
        "`helm rollback`, or upgrade with a correct value; the previous operator keeps running",
        orders(),
        _wrong_value,
        lambda scene: scene.world.release.roll_back(),
        needs_user=True,
        bears=180,
        is_alone=True,
    ),
    Fault(
        "a release with a wrong address of Kafka",
        "`worker.bootstrap.servers` names an unknown host",
        Says("Waiting|KafkaUnavailable", ("nowhere.",)),
        "correct the value, and upgrade the release",
        _second(_nowhere),
        remove=_upgraded(_servers),
        is_alone=True,
    ),
    Fault(
        "a release with a missing image",
        "`images.runtime` names an image that is in no registry",
        Says("ErrImagePull|ImagePullBackOff", ("registry.invalid/penstock-runtime:9",)),
        "correct the value, and upgrade the release",
        _second(_servers, images=_MISSING),
        remove=_upgraded(_servers, images={}),
        recovery=180,
        is_alone=True,
    ),
    Fault(
        "a release's Secret is missing in a namespace",
        "`workerSecretName` names a Secret that the connector's namespace does not have",
        Says("WorkerSecretMissing", ("Secret kafka-client is missing",)),
        "create the Secret in the namespace; the connector starts automatically",
        _second(_with_password, workerSecretName="kafka-client"),
        remove=_login("admin", "admin-secret"),
        is_alone=True,
    ),
    Fault(
        "a release's password is wrong in a namespace",
        "the Secret of the worker configuration has a wrong password",
        Says("Unavailable", ("does not accept the credentials",)),
        "correct the Secret; the connector starts automatically",
        _second_as("admin", "wrong"),
        remove=_login("admin", "admin-secret"),
        is_alone=True,
    ),
    Fault(
        "a release's user lacks permissions",
        "the user of the worker configuration has no ACLs",
        Says("Unavailable|PrepareFailed", ("uthoriz",)),
        "grant what [kafka-acls.md](kafka-acls.md) lists; the connector starts automatically",
        _second_as("penstock", "penstock-secret"),
        remove=_login("admin", "admin-secret"),
        is_alone=True,
    ),
)
