"""A review refuses only what the author can correct, and hinders no one: not deletions, not old objects, not order."""

import json
from typing import Any, Literal

import pytest

from penstock.errors import Problem
from penstock_operator.admission.answer import Answer, admission_review, field_path
from penstock_operator.admission.review import NOTHING_KNOWN, NamespaceView, is_reviewed, review

from .test_wrong_manifests import NAMESPACE, settings, view
from .world import manifest

Json = dict[str, Any]
WRONG = {"batch.size": "many"}


def request(config: Json, *, before: Json | None = None, class_name: str = "FileStreamSource", **more: Any) -> Json:
    def of(properties: Json) -> Json:
        return manifest({"class": class_name, "config": properties}, NAMESPACE)

    return {
        "uid": "1",
        "operation": "CREATE" if before is None else "UPDATE",
        "namespace": NAMESPACE,
        "name": "wrong",
        "kind": {"group": "penstock.dev", "version": "v1alpha1", "kind": "Connector"},
        "object": of(config),
        **({} if before is None else {"oldObject": of(before)}),
        **more,
    }


def reviewed(
    given: Json,
    known: NamespaceView | None = None,
    unknown: Literal["Warn", "RefuseSimilar", "RefuseAll"] = "RefuseSimilar",
) -> Answer:
    return review(given, known or view(), settings(), unknown, "0.1.0")


def refused(answer: Answer) -> list[str]:
    return [field_path(p.property) for p in answer.problems]


def warned(answer: Answer) -> list[str]:
    return [field_path(p.property) for p in answer.warnings]


def test_all_problems_are_reported_together() -> None:
    answer = reviewed(request({**WRONG, "errors.tolerance": "some", "batch.max.recods": "1", "tasks.max": "2"}))
    assert set(refused(answer)) == {
        "spec.config.batch.size",
        "spec.config.errors.tolerance",
        "spec.config.batch.max.recods",
        "spec.config.tasks.max",
    }


@pytest.mark.parametrize(
    "other",
    [{"operation": "DELETE"}, {"operation": "CONNECT"}, {"subResource": "status"}, {"subResource": "scale"}],
    ids=lambda o: next(iter(o.values())),
)
def test_deletions_statuses_and_scales_are_never_refused(other: Json) -> None:
    assert reviewed(request(WRONG, **other)) == Answer()


def test_an_object_that_is_being_deleted_is_never_refused() -> None:
    given = request(WRONG, before={})
    given["object"]["metadata"]["deletionTimestamp"] = "2026-11-29T00:00:00Z"
    assert reviewed(given) == Answer()


def test_labels_annotations_and_finalizers_of_an_invalid_object_can_be_changed() -> None:
    given = request(WRONG, before=WRONG)
    given["object"]["metadata"] |= {"finalizers": ["penstock.dev/reset-offsets"], "labels": {"a": "b"}}
    assert reviewed(given) == Answer()


def test_an_old_problem_is_a_warning_and_a_new_one_is_refused() -> None:
    answer = reviewed(request({**WRONG, "errors.tolerance": "some"}, before=WRONG))
    assert refused(answer) == ["spec.config.errors.tolerance"]
    assert "spec.config.batch.size" in warned(answer)


def test_an_invalid_object_can_be_corrected_step_by_step() -> None:
    both = {**WRONG, "errors.tolerance": "some"}
    assert reviewed(request(WRONG, before=both)).problems == ()
    assert reviewed(request({}, before=both)) == Answer()


def test_another_releases_namespaces_are_not_reviewed() -> None:
    ours = settings().model_copy(update={"watch_namespaces": ("billing",)})
    assert not is_reviewed(request(WRONG), ours)
    assert is_reviewed(request(WRONG, namespace="billing"), ours)


def test_a_kind_of_others_is_not_reviewed() -> None:
    assert reviewed(request(WRONG, kind={"kind": "Pod"})) == Answer()


@pytest.mark.parametrize(
    ("unknown", "problems"),
    [
        ("Warn", set()),
        ("RefuseSimilar", {"spec.config.batch.max.recods"}),
        ("RefuseAll", {"spec.config.batch.max.recods", "spec.config.leftover"}),
    ],
)
def test_the_platform_chooses_which_unknown_properties_are_refused(unknown: Any, problems: set[str]) -> None:
    both = {"batch.max.recods", "leftover"}
    answer = reviewed(request(dict.fromkeys(both, "1")), unknown=unknown)
    assert set(refused(answer)) == problems
    assert set(warned(answer)) == {f"spec.config.{name}" for name in both} - problems


@pytest.mark.parametrize(
    ("place", "name", "near"),
    [
        ("value.converter", "JsonConvertor", "JsonConverter"),
        ("value.converter", "jsonconverter", "JsonConverter"),
        (
            "value.converter",
            "org.apache.kafka.connect.json.JsonConvertor",
            "org.apache.kafka.connect.json.JsonConverter",
        ),
        ("header.converter", "SimpleHeaderConverte", "SimpleHeaderConverter"),
        ("transforms.a.type", "HoistFeild$Value", "HoistField"),
        ("predicates.p.type", "RecordIsTombston", "RecordIsTombstone"),
        ("value.converter", "ShopConvertor", "ShopConverter"),
        ("value.converter", "JsonSchemaConverter", None),
        ("transforms.a.type", "HoistFields", None),
        ("value.converter", "BsonConverter", None),
        ("value.converter", "StructConverter", None),
        ("value.converter", "com.acme.JsonConvertor", None),
        ("transforms.a.type", "JsonConvertor", None),
    ],
)
def test_a_class_whose_name_misspells_that_of_a_plugin_is_refused(place: str, name: str, near: str | None) -> None:
    config = {"transforms": "a", "transforms.a.type": "Filter", "transforms.a.predicate": "p", "predicates": "p"}
    config |= {"predicates.p.type": "RecordIsTombstone", place: name}
    answer = reviewed(request(config))
    (found,) = (p for p in (*answer.problems, *answer.warnings) if p.property == place)
    assert refused(answer) == ([f"spec.config.{place}"] if near else [])
    assert near is None or f" could not be found. Did you mean {near}? " in found.message
    assert reviewed(request(config), unknown="Warn").problems == ()


def test_a_class_that_an_unread_image_may_have_is_not_refused() -> None:
    image = f"new@sha256:{'0' * 64}"
    new = {"metadata": {"name": "new-1"}, "spec": {"runtime": "Java", "image": image}}
    versions = [
        *(view().plugin_versions or ()),
        {"apiVersion": "penstock.dev/v1alpha1", "kind": "PluginVersion", **new},
    ]
    known = NamespaceView(versions, [], view().definitions)
    answer = reviewed(request({}, class_name="Datagne"), known)
    assert answer.problems == ()
    assert next(str(p) for p in answer.warnings) == (
        "spec.class: Datagne is not checked yet: it is not built in, but may be in PluginVersion new-1, whose Java classes "
        "are unknown until it is verified"
    )


def test_values_that_only_a_pod_knows_are_not_judged() -> None:
    variables = {
        "topic": "${env:TOPIC}",
        "batch.size": "${file:/config:size}",
        "errors.tolerance": "${secret:errors:tolerance}",
        "transforms": "${env:STEPS}",
        "transforms.mask.type": "MaskField$Value",
        "producer.override.security.protocol": "SASL_SSL",
        "producer.override.sasl.mechanism": "SCRAM-SHA-512",
        "producer.override.sasl.jaas.config": "${secret:kafka:jaas}",
    }
    assert reviewed(request(variables)) == Answer()
    assert reviewed(request({"topics": "${env:T}"}, class_name="FileStreamSink")) == Answer()


def test_the_same_properties_that_the_plan_accepts_are_accepted() -> None:
    config = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "key.converter": "StringConverter",
        "key.converter.schemas.enable": "false",
        "transforms": "insert, route",
        "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.insert.static.field": "site",
        "transforms.insert.static.value": "a",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "a-$1",
        "transforms.route.predicate": "all",
        "predicates": "all",
        "predicates.all.type": "TopicNameMatches",
        "predicates.all.pattern": ".*",
        "topic.creation.default.partitions": "3",
        "topic.creation.default.replication.factor": "-1",
        "topic.creation.default.retention.ms": "1000",
        "producer.override.linger.ms": "5",
        "errors.tolerance": "all",
        "errors.log.enable": "true",
    }
    assert reviewed(request(config)) == Answer()


def test_a_java_plugin_needs_no_property_that_the_plan_adds_and_may_read_undeclared_ones() -> None:
    config = {
        "pol.interval.ms": "1",
        "header.converter": "com.example.ShopHeaderConverter",
        "value.converter": "com.example.ShopConverter",
        "value.converter.ratio": "1.5d",
        "value.converter.ration": "1",
        "transforms": "shop",
        "transforms.shop.type": "com.example.ShopTransform",
        "transforms.shop.field": "a",
        "transforms.shop.fields": "a",
    }
    given = request(config, class_name="com.example.ShopSource")
    undeclared = {"pol.interval.ms", "value.converter.ration", "transforms.shop.fields"}
    assert refused(reviewed(given)) == []
    assert set(warned(reviewed(given))) == {f"spec.config.{name}" for name in undeclared}
    assert set(refused(reviewed(given, unknown="RefuseAll"))) == {f"spec.config.{name}" for name in undeclared}


def test_a_required_property_of_a_java_plugin_is_missing() -> None:
    config = {"transforms": "shop", "transforms.shop.type": "com.example.ShopTransform"}
    assert refused(reviewed(request(config, class_name="com.example.ShopSource"))) == [
        "spec.config.transforms.shop.field"
    ]


@pytest.mark.parametrize(
    ("class_name", "config", "refusals", "warnings"),
    [
        ("FileStreamSource", {"topic": "sensors/+/t"}, {"topic"}, set()),
        ("FileStreamSource", {"topic": "sensors/+/t", "transforms": "${env:STEPS}"}, set(), {"topic"}),
        ("FileStreamSource", {"offsets.storage.topic": "my offsets"}, {"offsets.storage.topic"}, set()),
        ("FileStreamSource", {"topics": "sensors/+/t"}, set(), set()),
        ("FileStreamSink", {"topics": "a,sensors/+/t"}, {"topics"}, set()),
        ("FileStreamSink", {"topics": "a", "offsets.storage.topic": "my offsets"}, set(), {"offsets.storage.topic"}),
        ("Files", {"paths": "/data", "topic": "sensors/+/t"}, set(), set()),
        ("com.example.ShopSource", {"topic": "sensors/+/t", "topics": "sensors/+/t"}, set(), set()),
        ("com.example.Unknown", {"topic": "sensors/+/t", "topics": "sensors/+/t"}, set(), {"topics"}),
    ],
)
def test_a_topic_name_is_refused_only_if_kafka_certainly_gets_it(
    class_name: str, config: Json, refusals: set[str], warnings: set[str]
) -> None:
    answer = reviewed(request(config, class_name=class_name))

    def named(found: tuple[Problem, ...]) -> set[str]:
        return {p.property for p in found if "Kafka accepts no topic" in p.message}

    assert (named(answer.problems), named(answer.warnings)) == (refusals, warnings)


def test_a_transform_can_be_taken_out_of_the_list_and_its_properties_left() -> None:
    step = {"type": "MaskField$Value", "fields": "card"}
    both = {f"transforms.mask{n}.{name}": text for n in (1, 2) for name, text in step.items()}
    answer = reviewed(request({**both, "transforms": "mask2"}, before={**both, "transforms": "mask1,mask2"}))
    assert refused(answer) == []
    assert set(warned(answer)) == {"spec.config.transforms.mask1.type", "spec.config.transforms.mask1.fields"}


def test_while_the_namespace_cannot_be_read_nothing_is_said_of_what_is_in_it() -> None:
    given = request({"poll.interval.ms": "soon", "errors.tolerance": "some"}, class_name="com.example.ShopSource")
    answer = reviewed(given, NOTHING_KNOWN)
    assert refused(answer) == ["spec.config.errors.tolerance"]
    assert warned(answer) == []


def test_a_password_is_not_in_the_answer() -> None:
    given = request(
        {"password": "hunter22 many", "poll.interval.ms": "hunter22 many"}, class_name="com.example.ShopSource"
    )
    answer = reviewed(given)
    assert refused(answer) == ["spec.config.poll.interval.ms"]
    assert "hunter22" not in json.dumps(admission_review("1", given, answer))


def test_a_name_that_the_api_server_generates_is_accepted() -> None:
    given = request({}, name="")
    metadata = given["object"]["metadata"]
    del metadata["name"]
    metadata["generateName"] = "orders-"
    assert reviewed(given) == Answer()


def test_an_answer_names_every_field_as_a_cause() -> None:
    given = request({**WRONG, "errors.tolerance": "some", "leftover": "x"})
    response = admission_review("7", given, reviewed(given))["response"]
    assert (response["uid"], response["allowed"]) == ("7", False)
    assert response["status"]["code"] == 422
    causes = response["status"]["details"]["causes"]
    assert {c["field"] for c in causes} == {"spec.config.batch.size", "spec.config.errors.tolerance"}
    assert response["warnings"] == ["spec.config.leftover: is not known to FileStreamSource"]


def test_an_answer_stays_short_however_wrong_an_object_is() -> None:
    given = request({f"batch.max.recods{n}": "x" * 1000 for n in range(2000)})
    text = json.dumps(admission_review("1", given, reviewed(given)))
    assert len(text) < 50_000
    assert "more problems" in text
