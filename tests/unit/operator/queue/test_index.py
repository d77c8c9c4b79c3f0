"""Which connectors an event concerns."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock_operator.key import Key
from penstock_operator.kubernetes.event_keys import EventKeys
from penstock_operator.queue.index import ConnectorIndex

IN, OUT = Key("shop", "orders-in"), Key("shop", "orders-out")
ELSEWHERE = Key("stock", "items")


def body(key: Key, *, generation: int = 1, version: str = "1", **spec: Any) -> dict[str, Any]:
    metadata = {"namespace": key.namespace, "name": key.name, "uid": f"uid-{key.name}", "generation": generation}
    return {"metadata": {**metadata, "resourceVersion": version}, "spec": spec}


def other(namespace: str, name: str, *, version: str = "1", **more: Any) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name, "uid": f"u-{name}", "resourceVersion": version, "generation": 1}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, **more}


class Told:
    """Events told, and the keys that came of them."""

    def __init__(self, worker: Mapping[str, str] | None = None) -> None:
        self.keys: list[Key] = []
        self.hurried: list[Key] = []
        self.index = ConnectorIndex(worker or {})
        self.statuses: list[Key] = []
        """Of policies and PluginVersions whose status is to be looked at."""
        self.events = EventKeys(self.index, self.keys.append, self._hurry, lambda kind, key: self.statuses.append(key))

    def _hurry(self, key: Key) -> None:
        self.keys.append(key)
        self.hurried.append(key)

    def connector(self, key: Key, kind: str | None = None, **more: Any) -> list[Key]:
        return self._of(self.events.connector, kind, body(key, **more))

    def pod(self, kind: str | None, found: Mapping[str, Any]) -> list[Key]:
        return self._of(self.events.pod, kind, found)

    def secret(self, kind: str | None, found: Mapping[str, Any]) -> list[Key]:
        return self._of(self.events.secret, kind, found)

    def policy(self, kind: str | None, found: Mapping[str, Any]) -> list[Key]:
        return self._of(self.events.policy, kind, found)

    def plugin(self, kind: str | None, found: Mapping[str, Any]) -> list[Key]:
        return self._of(self.events.plugin_version, kind, found)

    def _of(self, told: Any, kind: str | None, found: Mapping[str, Any]) -> list[Key]:
        self.keys.clear()
        told({"type": kind, "object": found})
        return sorted(self.keys)


def test_a_connector_is_looked_at_when_it_is_listed_changed_and_deleted() -> None:
    told = Told()
    assert told.connector(IN) == [IN]
    assert told.connector(IN, "MODIFIED", generation=2) == [IN]
    assert told.connector(IN, "DELETED", generation=2) == [IN]
    assert told.index.all() == []


def test_a_write_of_its_status_wakes_nobody() -> None:
    told = Told()
    told.connector(IN)
    assert told.connector(IN, "MODIFIED", version="2") == []


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {"penstock.dev/restart": "1"}},
        {"labels": {"team": "a"}},
        {"finalizers": ["penstock.dev/offsets"]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"uid": "another"},
    ],
)
def test_what_changes_without_a_generation_is_seen(change: dict[str, Any]) -> None:
    told = Told()
    told.connector(IN)
    found = body(IN)
    found["metadata"].update(change)
    assert told._of(told.events.connector, "MODIFIED", found) == [IN]


def test_a_pod_wakes_the_connector_of_its_label_also_when_it_is_gone() -> None:
    told = Told()
    pod = other("shop", "orders-in-0-1", metadata={"labels": {"penstock.dev/connector": "orders-in"}})
    assert told.pod(None, pod) == told.pod("MODIFIED", pod) == told.pod("DELETED", pod) == [IN]
    assert told.pod("ADDED", other("shop", "somebody-s")) == []


def test_a_secret_wakes_those_that_name_it_in_its_namespace() -> None:
    told = Told()
    told.connector(IN, config={"password": "${secret:db:password}"})
    told.connector(OUT, config={"url": "jdbc:${secret:db:user}@${secret:other:host}/"})
    told.connector(ELSEWHERE, config={"password": "${secret:db:password}"})
    assert told.secret("MODIFIED", other("shop", "db")) == [IN, OUT]
    assert told.secret("MODIFIED", other("shop", "other")) == [OUT]
    assert told.secret("MODIFIED", other("shop", "unrelated")) == []


def test_a_secret_of_the_worker_configuration_wakes_everybody_in_its_namespace() -> None:
    told = Told({"sasl.jaas.config": 'x required password="${secret:kafka:password}";'})
    for key in (IN, OUT, ELSEWHERE):
        told.connector(key)
    assert told.secret("ADDED", other("shop", "kafka")) == [IN, OUT]


def test_secrets_that_are_listed_at_the_start_wake_nobody_and_their_change_does() -> None:
    told = Told()
    told.connector(IN, config={"password": "${secret:db:password}"})
    assert told.secret(None, other("shop", "db", version="1")) == []
    assert told.secret("MODIFIED", other("shop", "db", version="1")) == []
    assert told.secret("MODIFIED", other("shop", "db", version="2")) == [IN]
    assert told.secret(None, other("shop", "db", version="2")) == []
    assert told.secret(None, other("shop", "db", version="3")) == [IN]
    assert told.secret("DELETED", other("shop", "db", version="4")) == [IN]
    assert told.secret("ADDED", other("shop", "db", version="5")) == [IN]


def test_a_secret_that_is_no_longer_named_wakes_nobody() -> None:
    told = Told()
    told.connector(IN, config={"password": "${secret:db:password}"})
    told.connector(IN, "MODIFIED", generation=2, config={"password": "${secret:db2:password}"})
    assert told.secret("MODIFIED", other("shop", "db")) == []
    assert told.secret("MODIFIED", other("shop", "db2")) == [IN]


def test_a_policy_wakes_those_that_name_it() -> None:
    told = Told()
    told.connector(IN, topicCreationPolicyRef={"name": "shop-topics"})
    told.connector(OUT)
    told.connector(ELSEWHERE, topicCreationPolicyRef={"name": "shop-topics"})
    assert told.policy("ADDED", other("shop", "shop-topics")) == [IN]
    assert told.policy("MODIFIED", other("shop", "shop-topics", version="2")) == []  # its status
    assert told.policy("DELETED", other("shop", "shop-topics")) == [IN]


def test_a_policy_that_is_listed_for_the_first_time_wakes_too_since_its_definition_may_have_come_late() -> None:
    told = Told()
    told.connector(IN, topicCreationPolicyRef={"name": "shop-topics"})
    assert told.policy(None, other("shop", "shop-topics")) == [IN]
    assert told.policy(None, other("shop", "shop-topics")) == []


def test_the_status_of_a_policy_is_looked_at_when_it_changes_and_when_connectors_begin_or_cease_to_name_it() -> None:
    told, first, second = Told(), Key("shop", "shop-topics"), Key("shop", "others")
    told.policy("ADDED", other("shop", "shop-topics"))
    assert told.statuses == [first]
    told.connector(IN, topicCreationPolicyRef={"name": "shop-topics"})
    told.connector(OUT)
    assert told.statuses == [first, first]
    told.connector(IN, "MODIFIED", generation=2, topicCreationPolicyRef={"name": "shop-topics"})
    assert told.statuses == [first, first]
    told.connector(IN, "MODIFIED", generation=3, topicCreationPolicyRef={"name": "others"})
    assert sorted(told.statuses[2:]) == [second, first]
    told.connector(IN, "DELETED", topicCreationPolicyRef={"name": "others"})
    assert told.statuses[4:] == [second]


TICKER = {"classes": [{"alias": "Ticker", "type": "source", "javaNames": ["org.example.Clock"]}, {"alias": "X"}, 7]}


def test_a_plugin_version_wakes_those_of_its_namespace_that_may_mean_a_class_of_it() -> None:
    told = Told()
    for key, name in ((IN, "Ticker"), (OUT, "Datagen"), (ELSEWHERE, "Ticker")):
        told.connector(key, **{"class": name})
    for kind in (None, "DELETED"):  # one that is listed may be new: its definition came late
        assert told.plugin(kind, other("shop", "ticker-1", spec=TICKER)) == [IN]
    told.connector(OUT, "MODIFIED", generation=2, **{"class": " org.example.Clock "})
    assert told.plugin("ADDED", other("shop", "ticker-2", spec=TICKER)) == [IN, OUT]
    avro = {"classes": [{"alias": "AvroConverter", "type": "converter"}]}
    config = {"transforms": "a", "transforms.a.type": "AvroConverter$Key", "value.converter": " Avro"}
    told.connector(OUT, "MODIFIED", generation=3, **{"class": "Datagen", "config": config})
    assert told.plugin("ADDED", other("shop", "avro", spec=avro)) == [OUT]
    odd: tuple[Any, ...] = (None, [], {"classes": 7}, {"classes": [{"alias": None, "javaNames": 7}]})
    for spec in odd:
        assert told.plugin("ADDED", other("shop", "odd", spec=spec)) == []


def test_java_classes_that_become_known_wake_all_of_the_namespace_once_since_any_may_have_waited() -> None:
    told = Told()
    for key, name in ((IN, "com.acme.Clock"), (OUT, "Ticker"), (ELSEWHERE, "com.acme.Clock")):
        told.connector(key, **{"class": name})
    java = {"runtime": "Java", "image": f"r.example/x@sha256:{'0' * 64}"}
    assert told.plugin("ADDED", other("shop", "java", spec=java)) == [IN, OUT]
    assert told.plugin("MODIFIED", other("shop", "java", spec=java, status={"usedBy": []})) == []
    classes = [{"class": "com.acme.Clock", "type": "source", "version": "1.0", "paths": ["."]}]
    known = {"verifiedBy": "runtime:1", "classes": classes}
    assert told.plugin("MODIFIED", other("shop", "java", spec=java, status=known)) == [IN, OUT]
    assert told.plugin("MODIFIED", other("shop", "java", spec=java, status={**known, "usedBy": ["in"]})) == []


def test_a_plugin_version_wakes_all_whose_converter_the_worker_names() -> None:
    told = Told({"key.converter": "Avro"})
    told.connector(IN)
    told.connector(OUT, config={"key.converter": "JsonConverter"})
    avro = {"classes": [{"alias": "AvroConverter", "type": "converter"}]}
    assert told.plugin("ADDED", other("shop", "avro", spec=avro)) == [IN]


def test_the_status_of_a_plugin_version_is_looked_at_when_connectors_begin_or_cease_to_run_it() -> None:
    told = Told()
    told.connector(IN)
    told.statuses.clear()
    found = body(IN, version="2")
    for version, expected in (
        ("ticker-1", ["always", "ticker-1"]),
        ("ticker-1", []),
        ("ticker-2", ["ticker-1", "ticker-2"]),
    ):
        found["status"] = {"connector": {"class": "Ticker"}, "pluginVersions": [version, "always"]}
        told.events.connector({"type": "MODIFIED", "object": found})
        assert sorted(k.name for k in told.statuses) == expected
        told.statuses.clear()
    assert told.index.running("shop", "ticker-2") == [IN]
    told.events.connector({"type": "DELETED", "object": found})
    assert sorted(k.name for k in told.statuses) == ["always", "ticker-2"]
    assert told.index.running("shop", "ticker-2") == []


def test_connect_names_lead_back_to_connectors() -> None:
    index = ConnectorIndex({})
    index.seen(IN, body(IN))
    index.seen(OUT, body(OUT, connectName="Orders_Out"))
    index.seen(ELSEWHERE, body(ELSEWHERE, connectName="Orders_Out"))
    assert index.named("shop.orders-in") == [IN]
    assert sorted(index.named("Orders_Out")) == [OUT, ELSEWHERE]
    index.seen(OUT, body(OUT, generation=2))
    assert index.named("Orders_Out") == [ELSEWHERE]
    assert index.named("shop.orders-out") == [OUT]
    index.gone(IN)
    assert index.named("shop.orders-in") == []


@pytest.mark.parametrize(
    "spec", [None, {"config": None}, {"config": []}, {"topicCreationPolicyRef": "x"}, {"config": {"a": 1}}]
)
def test_a_resource_of_an_odd_shape_is_looked_at_all_the_same(spec: Any) -> None:
    told = Told()
    found = {**body(IN), "spec": spec}
    assert told._of(told.events.connector, None, found) == [IN]


def test_what_a_connector_no_longer_names_does_not_find_it_and_what_is_gone_leaves_nothing() -> None:
    told = Told()
    told.connector(
        IN, config={"password": "${secret:old:key}"}, topicCreationPolicyRef={"name": "old"}, connectName="old"
    )
    told.connector(OUT)
    told.connector(
        IN,
        generation=2,
        config={"password": "${secret:new:key}"},
        topicCreationPolicyRef={"name": "new"},
        connectName="new",
    )
    index = told.index
    assert (index.named("old"), index.with_secret("shop", "old"), index.bound_by("shop", "old", None)) == ([], [], [])
    assert (index.named("new"), index.with_secret("shop", "new"), index.bound_by("shop", "new", None)) == ([IN],) * 3
    assert sorted(index.of_namespace("shop")) == [IN, OUT]
    told.connector(IN, "DELETED")
    told.connector(OUT, "DELETED")
    assert not index._found_by


def selecting(labels: dict[str, str] | None, *, generation: int = 1, name: str = "rails") -> dict[str, Any]:
    spec = {} if labels is None else {"connectorSelector": {"matchLabels": labels}}
    return other("shop", name, metadata={"generation": generation}, spec=spec)


def labelled(told: Told, key: Key, **labels: str) -> list[Key]:
    """The policies whose status is to be looked at when a Connector has these labels."""
    found = body(key)
    found["metadata"]["labels"] = labels
    told.statuses.clear()
    assert told._of(told.events.connector, "MODIFIED", found) == [key]
    return sorted(told.statuses)


def test_a_policy_concerns_those_that_its_selector_takes_and_those_that_it_took_before() -> None:
    told = Told()
    for key, team in ((IN, "a"), (OUT, "b"), (ELSEWHERE, "a")):
        labelled(told, key, team=team)
    assert told.policy("ADDED", selecting(None)) == []
    assert told.policy("MODIFIED", selecting({"team": "a"}, generation=2)) == [IN]
    assert told.policy("MODIFIED", selecting({"team": "a"}, generation=2)) == []  # its status was written
    assert told.policy("MODIFIED", selecting({"team": "b"}, generation=3)) == [IN, OUT]
    assert told.policy("MODIFIED", selecting({}, generation=4)) == [IN, OUT]
    assert told.policy("MODIFIED", selecting(None, generation=5)) == [IN, OUT]
    assert told.policy("MODIFIED", selecting({"team": "b"}, generation=6)) == [OUT]
    assert told.policy("DELETED", selecting({"team": "b"}, generation=6)) == [OUT]


def test_a_label_that_comes_or_goes_concerns_the_policies_that_ask_for_it() -> None:
    told = Told()
    rails = Key("shop", "rails")
    told.policy("ADDED", selecting({"team": "a"}))
    told.policy("ADDED", selecting({}, name="every"))
    assert labelled(told, IN, team="b") == [Key("shop", "every")]
    assert labelled(told, IN, team="a") == [rails]
    assert labelled(told, IN, team="a", tier="gold") == []
    assert labelled(told, IN) == [rails]
    assert labelled(told, ELSEWHERE, team="a") == []
    told.statuses.clear()
    told.connector(IN, "DELETED")
    assert told.statuses == [Key("shop", "every")]


def test_somebody_waits_only_for_what_is_changed_in_a_connector_itself_and_for_its_pods() -> None:
    told = Told()
    told.connector(IN, config={"password": "${secret:db:key}"}, topicCreationPolicyRef={"name": "rules"})
    told.connector(IN, "MODIFIED", generation=2, config={"password": "${secret:db:key}"})
    told.pod("MODIFIED", other("shop", "p", metadata={"labels": {"penstock.dev/connector": IN.name}}))
    assert told.hurried == [IN] * 3
    told.secret("ADDED", other("shop", "db"))
    told.secret("MODIFIED", other("shop", "db", version="2"))
    told.policy("DELETED", other("shop", "rules"))
    told.plugin("ADDED", other("shop", "files"))
    assert told.hurried == [IN] * 3


def test_a_configuration_full_of_beginnings_of_references_is_looked_at_in_time() -> None:
    told = Told()
    text = "${secret:a:" * 100_000 + "${secret:b:key}"  # in the square of its length this would take minutes
    assert told.connector(IN, "ADDED", config={"a": text}) == [IN]
    assert told.secret("MODIFIED", other("shop", "a", version="2")) in ([], [IN])


def test_a_lost_status_is_an_event_and_any_other_status_is_not() -> None:
    index = ConnectorIndex({})
    assert index.seen(IN, body(IN))
    assert not index.seen(IN, {**body(IN), "status": {"observedGeneration": 1}})
    assert not index.seen(IN, {**body(IN), "status": {"observedGeneration": 1, "state": "Running"}})
    assert index.seen(IN, {**body(IN), "status": {"observedGeneration": -1}})
    assert not index.seen(IN, {**body(IN), "status": {"observedGeneration": 1}})
    assert index.seen(IN, body(IN))
