"""Which classes of Java plugins the images of PluginVersions offer, and which of them a connector gets (KIP-891)."""

from typing import Any

import pytest

from penstock import ConfigError
from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.contracts.verification import FoundClass, classes_text, read_classes
from penstock_model.resources.plugin_offers import class_names, is_unread, offered, offers_of
from penstock_model.resources.version_selection import ResolvedPlugins, resolve_plugins

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
MYSQL = "io.debezium.connector.mysql.MySqlConnector"
UNWRAP = "io.debezium.transforms.outbox.EventRouter"
DROP = "com.acme.Drop"


def found(name: str, kind: str = "source", version: str = "3.6.1.Final", *paths: str) -> dict[str, Any]:
    return {"class": name, "type": kind, "version": version, "paths": [*(paths or ("postgres",))]}


DEBEZIUM = [
    found(POSTGRES),
    found(MYSQL, "source", "3.6.1.Final", "mysql"),
    found(UNWRAP, "transform", "3.6.1.Final", "mysql", "postgres"),
]


def image(name: str, *classes: dict[str, Any], digest: str = "", **spec: Any) -> dict[str, Any]:
    whole = {
        "runtime": "Java",
        "image": f"quay.example/{name}@sha256:{(digest or name).encode().hex().rjust(64, '0')}",
        "path": "/kafka/connect",
        **spec,
    }
    status = {"verifiedBy": "runtime:1", "classes": [*classes]}
    return {"metadata": {"name": name}, "spec": whole, "status": status}


def resolve(documents: list[dict[str, Any]], name: str, version: str | None = None, **config: str) -> ResolvedPlugins:
    texts = {key.replace("_", "."): text for key, text in config.items()}
    return resolve_plugins(asked_plugins(name, version, texts, {}), offered(documents))


def chosen(resolved: ResolvedPlugins) -> dict[str, tuple[str, str, str]]:
    """By place: the PluginVersion, the version and the folder."""
    assert not resolved.problems
    return {place: (m.name, m.version, m.folder) for m in resolved.mounts for place in m.places}


def message_of(resolved: ResolvedPlugins) -> str:
    assert resolved.problems
    return "\n".join(map(str, resolved.problems))


def test_a_connector_is_found_by_each_of_its_names_in_the_newest_version_that_it_allows() -> None:
    there = [image("old", found(POSTGRES, "source", "3.5.0.Final")), image("new", *DEBEZIUM)]
    newest = {"connector": ("new", "3.6.1.Final", "/etc/penstock/plugins/0/kafka/connect/postgres")}
    for name in (POSTGRES, "PostgresConnector", "Postgres"):
        assert chosen(resolve(there, name)) == newest
    assert chosen(resolve(there, POSTGRES, "[3,3.6)"))["connector"][:2] == ("old", "3.5.0.Final")
    refused = resolve(there, POSTGRES, "[4,)")
    assert "available versions: [3.5.0.Final, 3.6.1.Final]" in message_of(refused)
    assert refused.is_missing


def test_one_image_may_hold_several_versions_of_a_class_each_in_a_folder_of_its_own() -> None:
    both = [found(POSTGRES, "source", "3.5.0.Final", "a"), found(POSTGRES, "source", "3.6.1.Final", "b")]
    assert chosen(resolve([image("both", *both)], POSTGRES))["connector"][2].endswith("/connect/b")
    assert chosen(resolve([image("both", *both)], POSTGRES, "3.5.0.Final"))["connector"][2].endswith("/connect/a")


def test_a_transform_that_is_next_to_the_connector_comes_from_there_and_shares_its_folder() -> None:
    newer = image("newer", found(UNWRAP, "transform", "4.0.0.Final", "x"))
    config = {"transforms": "x", "transforms_x_type": UNWRAP}
    resolved = resolve([image("debezium", *DEBEZIUM), newer], POSTGRES, **config)
    folder = "/etc/penstock/plugins/0/kafka/connect/postgres"
    assert chosen(resolved) == {
        "connector": ("debezium", "3.6.1.Final", folder),
        "transforms.x": ("debezium", "3.6.1.Final", folder),
    }
    asked = {**config, "transforms_x_plugin_version": "[4,)"}
    assert chosen(resolve([image("debezium", *DEBEZIUM), newer], POSTGRES, **asked))["transforms.x"] == (
        "newer",
        "4.0.0.Final",
        "/etc/penstock/plugins/1/kafka/connect/x",
    )


def test_one_connector_may_use_two_versions_of_one_class() -> None:
    two = [found(DROP, "transform", "1.0", "a"), found(DROP, "transform", "2.0", "b")]
    config = {"transforms": "x,y", "transforms_x_type": DROP, "transforms_y_type": DROP}
    versions = {"transforms_x_plugin_version": "1.0", "transforms_y_plugin_version": "2.0"}
    found_there = chosen(resolve([image("debezium", *DEBEZIUM), image("acme", *two)], POSTGRES, **config, **versions))
    assert {place: which[1] for place, which in found_there.items()} == {
        "connector": "3.6.1.Final",
        "transforms.x": "1.0",
        "transforms.y": "2.0",
    }


AVRO = "io.confluent.connect.avro.AvroConverter"


def registry() -> dict[str, Any]:
    """A PluginVersion of a converter in Python with the name of one in Java."""
    classes = [{"alias": "AvroConverter", "type": "converter", "javaNames": [AVRO]}]
    spec = {"plugin": "penstock-registry", "version": "0.1.0", "classes": classes}
    return {"metadata": {"name": "own"}, "spec": {**spec, "image": f"r.example/own@sha256:{'0' * 64}"}}


@pytest.mark.parametrize(("version", "name"), [("0.1.0", "own"), ("[7,8)", "confluent")])
def test_a_version_chooses_between_java_and_python(version: str, name: str) -> None:
    there = [registry(), image("confluent", found(AVRO, "converter", "7.9.0", "avro"))]
    config = {"value_converter": AVRO, "value_converter_plugin_version": version}
    assert chosen(resolve(there, "FileStreamSink", **config))["value.converter"][0] == name


@pytest.mark.parametrize("version", [{}, {"value_converter_plugin_version": "[0.1,8)"}])
def test_without_a_version_that_only_one_has_neither_is_chosen(version: dict[str, str]) -> None:
    there = [registry(), image("confluent", found(AVRO, "converter", "7.9.0", "avro"))]
    assert message_of(resolve(there, "FileStreamSink", value_converter=AVRO, **version)) == (
        f"value.converter: {AVRO} is a class of several plugins, {AVRO} (confluent), penstock-registry (own); request a "
        "version that only one of them has (value.converter.plugin.version), or delete the others"
    )


def test_a_connector_of_python_may_have_a_transform_of_java() -> None:
    classes = [{"alias": "Clock", "type": "source"}]
    spec = {"plugin": "acme", "version": "1.0", "image": f"r.example/acme@sha256:{'0' * 64}", "classes": classes}
    python = {"metadata": {"name": "acme-1.0"}, "spec": spec}
    config = {"transforms": "x", "transforms_x_type": UNWRAP}
    resolved = resolve([python, image("debezium", *DEBEZIUM)], "Clock", **config)
    assert chosen(resolved)["transforms.x"][:2] == ("debezium", "3.6.1.Final")
    assert [(m.runtime, m.folder.split("/")[4]) for m in resolved.mounts] == [("Python", "0"), ("Java", "1")]


def test_a_nested_class_is_found_by_its_name_with_the_class_around_it() -> None:
    nested = [found(f"{DROP}${side}", "transform", "1.0", "a") for side in ("Key", "Value")]
    config = {"transforms": "x", "transforms_x_type": f"{DROP}$Value"}
    resolved = resolve([image("debezium", *DEBEZIUM), image("acme", *nested)], POSTGRES, **config)
    assert chosen(resolved)["transforms.x"][:2] == ("acme", "1.0")
    (mount,) = (m for m in resolved.mounts if m.name == "acme")
    assert [c.java_names[0] for c in mount.classes] == [f"{DROP}$Key", f"{DROP}$Value"]


def test_two_images_with_the_same_class_and_version_are_refused_and_both_named() -> None:
    there = [image("debezium", *DEBEZIUM), image("other", *DEBEZIUM)]
    assert "is in several PluginVersions that differ, debezium, other; delete all but one" in message_of(
        resolve(there, POSTGRES)
    )
    same = [image("debezium", *DEBEZIUM, digest="x"), image("debezium", *DEBEZIUM, digest="x")]
    assert chosen(resolve(same, POSTGRES))["connector"][0] == "debezium"


@pytest.mark.parametrize("python", [True, False])
def test_a_transform_of_one_version_in_several_images_comes_from_the_first_by_name(*, python: bool) -> None:
    """Each image of Debezium brings the same transforms, and all are needed for their connectors."""
    classes = [{"alias": "Clock", "type": "source"}]
    spec = {"plugin": "acme", "version": "1.0", "image": f"r.example/acme@sha256:{'0' * 64}", "classes": classes}
    own = {"metadata": {"name": "own"}, "spec": spec} if python else image("own", found("com.acme.Clock"))
    transforms = found(UNWRAP, "transform")
    there = [
        own,
        image("mysql", transforms),
        image("db2", transforms),
        image("old", found(UNWRAP, "transform", "3.5.0")),
    ]
    resolved = resolve(there, "Clock", transforms="x", transforms_x_type=UNWRAP)
    assert chosen(resolved)["transforms.x"][:2] == ("db2", "3.6.1.Final")


def test_a_transform_without_a_version_in_several_images_is_refused_with_both() -> None:
    there = [image(n, found(DROP, "transform", "undefined")) for n in ("a", "b")]
    resolved = resolve([*there, image("debezium", *DEBEZIUM)], POSTGRES, transforms="x", transforms_x_type=DROP)
    assert "is in several PluginVersions that differ, a, b; delete all but one" in message_of(resolved)


def test_a_full_name_that_a_package_of_python_takes_too_is_refused_with_what_to_do() -> None:
    spec = {"plugin": "acme", "version": "1.0", "image": f"r.example/acme@sha256:{'0' * 64}"}
    classes = [{"alias": "Postgres", "type": "source", "javaNames": [POSTGRES]}]
    python = {"metadata": {"name": "acme-1.0"}, "spec": {**spec, "classes": classes}}
    said = message_of(resolve([python, image("debezium", *DEBEZIUM)], POSTGRES))
    assert f"acme (acme-1.0), {POSTGRES} (debezium); request a version that only one of them has (spec.version)" in said


def test_a_short_name_of_two_classes_is_refused_with_what_to_write() -> None:
    there = [image("debezium", *DEBEZIUM), image("acme", found("com.acme.PostgresConnector"))]
    assert "write the full name of the class that you mean" in message_of(resolve(there, "PostgresConnector"))
    assert chosen(resolve(there, POSTGRES))["connector"][0] == "debezium"


def test_an_image_offers_nothing_until_a_pod_has_looked_and_nothing_outside_of_its_folder() -> None:
    document = image("debezium")
    assert (offers_of(document), class_names(document), is_unread(document)) == ((), frozenset(), False)
    assert is_unread({**document, "status": {"usedBy": []}})
    assert not is_unread({**document, "status": {}, "spec": {"runtime": "Java"}})  # it cannot be used
    away = image("debezium", found(POSTGRES, "source", "1", "../../../mysql"))
    assert offers_of(away) == ()
    odd = {**document, "status": {"classes": [7, {"class": POSTGRES}, found(POSTGRES, "gadget")]}}
    assert offers_of(odd) == ()


def test_plugin_and_version_of_an_image_of_python_are_required_still() -> None:
    with pytest.raises(ConfigError, match="plugin, version and classes are required"):
        offers_of({"metadata": {"name": "x"}, "spec": {"image": f"r.example/x@sha256:{'0' * 64}"}})


def test_some_hundred_classes_fit_into_a_termination_message() -> None:
    many = tuple(
        FoundClass(
            class_name=f"io.vendor{n}.connect.Vendor{n}Connector", type="source", version=f"{n}.0", paths=(f"p{n}",)
        )
        for n in range(150)
    )
    assert len(classes_text(many)) < 3_600
    assert read_classes(classes_text(many)) == many
    assert read_classes("no such text") == ()
