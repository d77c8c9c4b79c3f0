"""Which PluginVersion a class and a version mean (KIP-891), over those that there are."""

from typing import Any

import pytest

from penstock import Connector
from penstock_model.connect.plugin_names import BUILT_IN_CONNECTORS, is_built_in_connector
from penstock_model.resources.plugin_resolution import mount_of, offered, resolve_connector
from penstock_runtime.plugins.discovery import PluginRef, Plugins


def version(text: str, name: str = "", **spec: Any) -> dict[str, Any]:
    whole = {
        "plugin": "acme",
        "version": text,
        "image": f"r/x@sha256:{text.encode().hex().rjust(64, '0')}",
        "classes": [{"alias": "Clock", "type": "source"}],
        **spec,
    }
    return {"metadata": {"name": name or f"acme-{text}"}, "spec": whole, "status": {"usedBy": 7}}


def test_the_built_in_connectors_are_those_that_are_installed() -> None:
    refs = [r for r in Plugins.installed().every() if isinstance(r, PluginRef) and r.distribution == "penstock"]
    assert {r.alias: tuple(r.cls.java_names) for r in refs if issubclass(r.cls, Connector)} == BUILT_IN_CONNECTORS


@pytest.mark.parametrize(
    "name",
    [
        "Datagen",
        "FileStreamSource",
        "FileStreamSourceConnector",
        "org.apache.kafka.connect.file.FileStreamSinkConnector",
    ],
)
def test_a_built_in_is_known_by_each_of_its_names(name: str) -> None:
    assert is_built_in_connector(name)
    assert not is_built_in_connector(f"{name}X")


def test_equal_versions_in_another_form_are_one_version_and_the_newest_of_mavens_order_runs() -> None:
    offers = offered([version("1.0"), version("1.0.0-rc1"), version("1.0.0-SNAPSHOT"), version("0.9")])
    assert resolve_connector("Clock", None, offers).offer == offers[1]
    assert resolve_connector("Clock", "1", offers).offer == offers[1]
    same = offered([version("1.0"), version("1.0.0")])
    assert "acme-1.0, acme-1.0.0" in str(resolve_connector("Clock", None, same).problems[0])


def test_a_class_whose_very_alias_is_named_precedes_one_that_it_may_mean() -> None:
    longer = version("2.0", classes=[{"alias": "ClockConnector", "type": "sink"}], plugin="other")
    offers = offered([version("1.0"), longer])
    assert resolve_connector("Clock", None, offers).offer == offers[0]
    assert resolve_connector("ClockConnector", None, offers).offer == offers[1]


def test_what_is_no_connector_is_no_connector() -> None:
    offers = offered([version("1.0", classes=[{"alias": "Clock", "type": "transform"}])])
    assert resolve_connector("Clock", "[5,)", offers).offer is None
    assert not resolve_connector("Clock", "[5,)", offers).problems


def test_versions_that_there_are_come_in_mavens_order() -> None:
    offers = offered([version("10.0"), version("9.0"), version("9.0-beta")])
    (problem,) = resolve_connector("Clock", "[11,)", offers).problems
    assert str(problem).endswith("available versions: [9.0-beta, 9.0, 10.0]")


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/plugin", "plugin"), ("/", ""), ("//opt//x/", "opt/x"), ("/../../secrets", "secrets"), ("/a/../../b", "b")],
)
def test_the_folder_of_a_mount_lies_in_the_mount(path: str, folder: str) -> None:
    (offer,) = offered([version("1.0", path=path)])
    assert mount_of(offer, 3).folder == f"/etc/penstock/plugins/3/{folder}".rstrip("/")


def test_documents_of_any_form_offer_nothing_and_harm_nobody() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"metadata": None},
        {"metadata": {"name": "x"}, "spec": 7},
        version("1.0", classes="x"),
    ]
    assert [o.name for o in offered([*odd, version("2.0")])] == ["acme-2.0"]
