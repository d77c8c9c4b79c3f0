"""Which PluginVersions the classes and versions of a connector mean (KIP-891), over those that there are."""

from typing import Any

import pytest

from penstock import Connector, Converter, HeaderConverter, Plugin, Predicate, Transform
from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.connect.plugin_names import BUILT_INS, PluginKind, is_built_in
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import class_names, offered
from penstock_model.resources.version_selection import ResolvedPlugins, resolve_plugins
from penstock_runtime.plugins.discovery import PluginRef, Plugins

KINDS: dict[PluginKind, type[Plugin]] = {
    "connector": Connector,
    "converter": Converter,
    "headerConverter": HeaderConverter,
    "transform": Transform,
    "predicate": Predicate,
}
SMTS = [
    {"alias": "Trim", "type": "transform", "javaNames": ["org.example.Trim"]},
    {"alias": "IsLate", "type": "predicate"},
]
AVRO = [
    {"alias": "AvroConverter", "type": "converter", "javaNames": ["io.example.Avro"]},
    {"alias": "AvroHeaders", "type": "headerConverter", "javaNames": ["io.example.Avro"]},
]


def version(text: str, name: str = "", **spec: Any) -> dict[str, Any]:
    plugin = spec.get("plugin", "acme")
    whole = {
        "plugin": plugin,
        "version": text,
        "image": f"r/{plugin.lower()}@sha256:{text.encode().hex().rjust(64, '0')}",
        "classes": [{"alias": "Clock", "type": "source"}],
        **spec,
    }
    return {"metadata": {"name": name or f"{plugin}-{text}"}, "spec": whole, "status": {"usedBy": 7}}


def offers(*documents: dict[str, Any]) -> tuple[PluginMount, ...]:
    smts = [version(v, plugin="smts", classes=SMTS) for v in ("1.0", "1.1", "2.0")]
    avro = [version(v, plugin="avro", classes=AVRO) for v in ("3.0", "4.0")]
    return offered([*smts, *avro, *documents])


def resolve(
    class_name: str,
    wanted: str | None,
    there: tuple[PluginMount, ...],
    worker: dict[str, str] | None = None,
    **config: Any,
) -> ResolvedPlugins:
    texts = {name.replace("_", "."): text for name, text in config.items()}
    return resolve_plugins(asked_plugins(class_name, wanted, texts, worker or {}), there)


def chosen(found: ResolvedPlugins) -> dict[str, str]:
    """The PluginVersions by place."""
    assert not found.problems
    for n, m in enumerate(found.mounts):
        assert m.folder.startswith(f"/etc/penstock/plugins/{n}/")
    return {place: m.name for m in found.mounts for place in m.places}


def told(found: ResolvedPlugins) -> str:
    return "\n".join(map(str, found.problems))


def test_the_built_ins_are_those_that_are_installed() -> None:
    refs = [r for r in Plugins.installed().every() if isinstance(r, PluginRef) and r.distribution == "penstock"]
    for kind, base in KINDS.items():
        assert {r.alias: tuple(r.cls.java_names) for r in refs if issubclass(r.cls, base)} == BUILT_INS[kind]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("connector", "Datagen"),
        ("connector", "FileStreamSource"),
        ("connector", "FileStreamSourceConnector"),
        ("connector", "org.apache.kafka.connect.file.FileStreamSinkConnector"),
        ("converter", "Json"),
        ("converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("headerConverter", "StringConverter"),
        ("headerConverter", "SimpleHeaderConverter"),
        ("transform", "org.apache.kafka.connect.transforms.Cast"),
        ("predicate", "RecordIsTombstone"),
    ],
)
def test_a_built_in_is_known_by_each_of_its_names(kind: PluginKind, name: str) -> None:
    assert is_built_in(kind, name)
    assert not is_built_in(kind, f"{name}X")
    assert name == "Datagen" or not is_built_in("predicate" if kind != "predicate" else "transform", name)


def test_equal_versions_in_another_form_are_one_version_and_the_newest_of_mavens_order_runs() -> None:
    there = offered([version("1.0"), version("1.0.0-rc1"), version("1.0.0-SNAPSHOT"), version("0.9")])
    assert chosen(resolve("Clock", None, there)) == {"connector": "acme-1.0"}
    assert chosen(resolve("Clock", "1", there)) == {"connector": "acme-1.0"}
    same = offered([version("1.0"), version("1.0.0")])
    assert "acme-1.0, acme-1.0.0" in told(resolve("Clock", None, same))


def test_a_name_that_may_mean_classes_of_two_plugins_is_refused_with_both() -> None:
    longer = version("2.0", classes=[{"alias": "ClockConnector", "type": "sink"}], plugin="other")
    there = offered([version("1.0"), longer])
    for name in ("Clock", "ClockConnector"):
        said = told(resolve(name, None, there))
        assert said.startswith(f"spec.class: {name} is a class of several plugins, acme (acme-1.0), other (other-2.0)")


def test_a_class_that_is_renamed_in_a_later_version_is_found_in_both() -> None:
    renamed = version("5.0", plugin="avro", classes=[{"alias": "Avro", "type": "converter"}])
    for wanted, name in (("4.0", "avro-4.0"), ("[3,)", "avro-5.0")):
        found = resolve("X", None, offers(renamed), value_converter="Avro", value_converter_plugin_version=wanted)
        assert chosen(found) == {"value.converter": name}


def test_a_class_of_another_kind_is_not_meant() -> None:
    there = offered([version("1.0", classes=[{"alias": "Clock", "type": "transform"}])])
    assert chosen(resolve("Clock", "[5,)", there)) == {}
    assert chosen(resolve("X", None, offers(), transforms="t", transforms_t_type="AvroConverter")) == {}


def test_versions_that_there_are_come_in_mavens_order_with_the_default_and_the_recommended_ones() -> None:
    there = offered([version("10.0"), version("9.0"), version("9.0-beta")])
    listed = "available versions: [9.0-beta, 9.0, 10.0] (default: 10.0; recommended: 10.0, 9.0, 9.0-beta)"
    assert told(resolve("Clock", "[11,)", there)).endswith(listed)
    assert told(resolve("Clock", "[11", there)) == f"spec.version: Unbounded range: [11; {listed}"


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/plugin", "plugin"), ("/", ""), ("//opt//x/", "opt/x"), ("/../../secrets", "secrets"), ("/a/../../b", "b")],
)
def test_the_folder_of_a_mount_lies_in_the_mount(path: str, folder: str) -> None:
    (offer,) = offered([version("1.0", path=path)])
    for number in (0, 3):
        there = offer.numbered(7, ["connector"]).numbered(number, ["connector"])
        assert there.folder == f"/etc/penstock/plugins/{number}/{folder}".rstrip("/")


def test_documents_of_any_form_offer_nothing_and_harm_nobody() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"metadata": None},
        {"metadata": {"name": "x"}, "spec": 7},
        version("1.0", classes="x"),
    ]
    assert [o.name for o in offered([*odd, version("2.0")])] == ["acme-2.0"]


@pytest.mark.parametrize(
    "declared",
    [
        {"alias": "Cast", "type": "transform"},
        {"alias": "Mine", "type": "transform", "javaNames": ["org.apache.kafka.connect.transforms.Cast"]},
        {"alias": "JsonConverter", "type": "converter"},
        {"alias": "JsonHeaders", "type": "converter"},
        {"alias": "penstock_plugins.connectors.datagen.source.Datagen", "type": "source"},
        {"alias": "StringConverter", "type": "headerConverter"},
        {"alias": "RecordIsTombstone", "type": "predicate"},
    ],
)
def test_no_image_offers_a_class_by_the_name_of_a_built_in_of_its_kind(declared: dict[str, Any]) -> None:
    assert not offered([version("9.0", classes=[declared])])


def test_every_place_has_its_own_version_in_one_pod() -> None:
    found = resolve(
        "Clock",
        "[1,2)",
        offers(version("1.0"), version("2.0")),
        value_converter="AvroConverter",
        value_converter_plugin_version="3.0",
        header_converter="io.example.Avro",
        transforms="t",
        transforms_t_type="Trim$Value",
        transforms_t_plugin_version="[1,2)",
        transforms_t_predicate="p",
        predicates="p",
        predicates_p_type=" IsLate ",
        key_converter="JsonConverter",
    )
    assert chosen(found) == {
        "connector": "acme-1.0",
        "value.converter": "avro-3.0",
        "header.converter": "avro-3.0",
        "transforms.t": "smts-1.1",
        "predicates.p": "smts-1.1",
    }
    assert [m.places for m in found.mounts] == [
        ("connector",),
        ("value.converter", "header.converter"),
        ("transforms.t", "predicates.p"),
    ]


def test_what_the_worker_names_counts_where_the_connector_names_no_converter() -> None:
    worker = {"value.converter": "Avro", "value.converter.plugin.version": "3.0", "key.converter": "AvroConverter"}
    of_worker = resolve("Clock", None, offers(version("1.0")), worker, value_converter_plugin_version="(")
    assert chosen(of_worker) == {"connector": "acme-1.0", "value.converter": "avro-3.0", "key.converter": "avro-3.0"}
    wrong = resolve("Clock", None, offers(version("1.0")), {**worker, "value.converter.plugin.version": "9"})
    assert told(wrong).startswith("worker configuration, value.converter.plugin.version: Plugin Avro not found that")
    own = resolve("X", None, offers(), worker, value_converter="Json", key_converter="Json")
    assert chosen(own) == {}


def test_a_plugin_of_the_connectors_own_distribution_comes_from_there_where_no_version_is_asked_for() -> None:
    both = [{"alias": "Clock", "type": "source"}, {"alias": "AvroConverter", "type": "converter"}]
    there = offers(version("1.0", classes=both), version("2.0", classes=both))
    found = resolve("Clock", "1.0", there, value_converter="AvroConverter")
    assert chosen(found) == {"connector": "acme-1.0", "value.converter": "acme-1.0"}
    ranged = resolve("Clock", "1.0", there, value_converter="Avro", value_converter_plugin_version="[1,)")
    assert chosen(ranged) == {"connector": "acme-1.0", "value.converter": "acme-1.0"}


def test_what_is_pinned_in_another_distribution_or_was_chosen_there_stays_there() -> None:
    both = [{"alias": "Clock", "type": "source"}, *SMTS]
    there = offers(version("9.0", classes=both))
    trim: dict[str, Any] = {"transforms": "t", "transforms_t_type": "Trim"}
    found = resolve("Clock", None, there, **trim, transforms_t_plugin_version="1.1")
    assert chosen(found) == {"connector": "acme-9.0", "transforms.t": "smts-1.1"}
    kept = {"transforms.t": next(o for o in there if o.name == "smts-2.0")}
    asked = asked_plugins("Clock", None, {"transforms": "t", "transforms.t.type": "Trim"}, {})
    assert chosen(resolve_plugins(asked, there, kept)) == {"connector": "acme-9.0", "transforms.t": "smts-2.0"}
    assert chosen(resolve_plugins(asked, there)) == {"connector": "acme-9.0", "transforms.t": "acme-9.0"}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("9" * 5000, "has at most 256 characters"), ("${env:V}", "cannot contain variables, because no pod resolves it")],
)
def test_a_range_that_no_operator_can_compare_is_refused(wanted: str, said: str) -> None:
    found = resolve("X", None, offers(), value_converter="Avro", value_converter_plugin_version=wanted)
    assert said in told(found)
    assert not found.is_missing


@pytest.mark.parametrize("name", ["${env:CONVERTER}", "Avro${x}", ""])
def test_a_variable_names_no_class_of_an_image(name: str) -> None:
    assert chosen(resolve("X", None, offers(), value_converter=name)) == {}


def test_a_class_may_be_a_converter_of_values_and_of_headers() -> None:
    only = offered([version("1.0", classes=[{"alias": "AvroConverter", "type": "converter"}])])
    assert chosen(resolve("X", None, only, header_converter="Avro")) == {"header.converter": "acme-1.0"}


def test_another_version_of_the_connectors_distribution_is_refused_with_both_and_those_recommended() -> None:
    both = [{"alias": "Clock", "type": "source"}, *SMTS]
    there = offered(version(v, classes=both if v != "3.0" else both[:1]) for v in ("1.0", "2.0", "3.0"))
    trim: dict[str, Any] = {"transforms": "t", "transforms_t_type": "Trim"}
    found = resolve("Clock", "1.0", there, **trim, transforms_t_plugin_version="2.0")
    assert told(found) == (
        "transforms.t.plugin.version: transforms.t requests version [2.0,2.0] of acme, but the connector runs 1.0 of it; "
        "available versions: [1.0, 2.0] (default: 2.0; recommended: 2.0, 1.0); a pod can have only one version of a "
        "distribution; request compatible versions: here and in spec.version"
    )
    assert not found.is_missing
    gone = told(resolve("Clock", "3.0", there, **trim))
    assert gone.startswith(
        "transforms.t.type: Trim is a class of acme, but not of version 3.0, which the connector runs; available versions: "
        "[1.0, 2.0] (default: 2.0; recommended: 2.0, 1.0); a pod can have only one version"
    )


def test_places_of_one_distribution_get_the_newest_version_that_all_allow_or_are_refused_with_both() -> None:
    two: dict[str, Any] = {"transforms": "a,b", "transforms_a_type": "Trim", "transforms_b_type": "org.example.Trim"}
    agreed = resolve("X", None, offers(), **two, transforms_b_plugin_version="[1,2)")
    assert chosen(agreed) == {"transforms.a": "smts-1.1", "transforms.b": "smts-1.1"}
    never: dict[str, Any] = {"transforms_a_plugin_version": "1.0", "transforms_b_plugin_version": "2.0"}
    assert told(resolve("X", None, offers(), **two, **never)).startswith(
        "transforms.a.plugin.version: transforms.a (version 1.0) and transforms.b (version 2.0) are of the "
        "distribution smts, but no version of it fits all of them, available versions: [1.0, 1.1, 2.0] (default: "
        "2.0; recommended: 2.0, 1.1, 1.0); a pod can have only one version"
    )


def test_all_problems_are_reported_together_and_only_missing_versions_may_still_come() -> None:
    wrong: dict[str, Any] = {"value_converter": "Avro", "value_converter_plugin_version": "[9,)", "transforms": "t"}
    found = resolve("Clock", "(1", offers(version("1.0")), **wrong, transforms_t_type="Trim")
    assert [p.property for p in found.problems] == ["spec.version", "value.converter.plugin.version"]
    assert not found.is_missing
    missing = resolve("Clock", "2.0", offers(version("1.0")), **wrong, transforms_t_type="Trim")
    assert missing.is_missing


def test_a_version_of_what_penstock_brings_is_left_to_the_runtime() -> None:
    assert chosen(resolve("FileStreamSource", "(", offers(), value_converter="Json")) == {}


def test_what_is_kept_stays_where_it_is_and_leads_others_of_its_distribution() -> None:
    two = {"transforms": "a,b", "transforms.a.type": "Trim", "transforms.b.type": "Trim"}
    kept = {"transforms.a": offers()[2].numbered(4, ["transforms.a"])}
    assert kept["transforms.a"].name == "smts-1.0"
    asked = asked_plugins("X", None, two, {})
    assert chosen(resolve_plugins(asked, offers(), kept)) == {"transforms.a": "smts-1.0", "transforms.b": "smts-1.0"}
    asked = asked_plugins("X", None, {**two, "transforms.b.plugin.version": "2.0"}, {})
    assert chosen(resolve_plugins(asked, offers(), kept)) == {"transforms.a": "smts-2.0", "transforms.b": "smts-2.0"}
    alone = asked_plugins("X", None, {"transforms": "a", "transforms.a.type": "Trim"}, {})
    assert chosen(resolve_plugins(alone, (), kept)) == {"transforms.a": "smts-1.0"}


def test_what_nothing_offers_any_more_is_missing_and_never_taken_for_the_runtimes() -> None:
    before = {"transforms.a": offers()[2]}
    asked = asked_plugins("X", None, {"transforms": "a", "transforms.a.type": "Trim"}, {})
    found = resolve_plugins(asked, (), {}, before)
    assert found.is_missing
    assert told(found).startswith("transforms.a.type: no PluginVersion of this namespace offers Trim any longer")


@pytest.mark.parametrize(
    ("alias", "names"),
    [
        ("ClockConnector", {"Clock", "ClockConnector"}),
        ("TrimTransformation", {"Trim"}),
        ("AvroConverter", {"Avro"}),
        ("AvroHeaderConverter", {"Avro", "AvroHeader"}),
    ],
)
def test_the_names_that_may_mean_a_class_are_those_that_configurations_may_use(alias: str, names: set[str]) -> None:
    assert class_names({"spec": {"classes": [{"alias": alias}]}}) >= {alias, *names}
