"""`penstock plugins`: a plugin that is broken says what is, and who brought it."""

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.definitions import ClassDefinition, ConfigKey, pack
from penstock_runtime.plugins import discovery

from .command import Done, penstock

MODULE = """
from penstock import SinkConnector, Transform
class Half(Transform): pass
class Other: pass
VALUE = 5
"""
ENTRIES = """[penstock.plugins]
Raises = shop_raises:Raises
Exits = shop_exits:Exits
Missing = shop_missing:Missing
NoClass = shop:NoClass
Half = shop:Half
Other = shop:Other
Value = shop:VALUE
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the distribution `shop-plugins`, of which nothing works."""
    (tmp_path / "shop.py").write_text(MODULE)
    (tmp_path / "shop_raises.py").write_text("import no_such_client\n")
    (tmp_path / "shop_exits.py").write_text("raise SystemExit(3)\n")
    info = tmp_path / "shop_plugins-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-plugins\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    discovery._installed.cache_clear()
    yield tmp_path
    discovery._installed.cache_clear()
    sys.modules.pop("shop", None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Raises",
            "Raises (shop_raises:Raises of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "ModuleNotFoundError: No module named 'no_such_client'; install the package that provides the module "
            "no_such_client",
        ),
        (
            "Exits",
            "Exits (shop_exits:Exits of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "SystemExit: 3",
        ),
        (
            "Missing",
            "Missing (shop_missing:Missing of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "ModuleNotFoundError: No module named 'shop_missing'; its distribution names a module that does not exist",
        ),
        (
            "NoClass",
            "NoClass (shop:NoClass of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "AttributeError: module 'shop' has no attribute 'NoClass'",
        ),
        ("Half", "Half (shop:Half of distribution shop-plugins 1.2) is incomplete: it does not define apply"),
        (
            "Other",
            "Other (shop:Other of distribution shop-plugins 1.2) is not a plugin: it is not a subclass of penstock.Plugin",
        ),
        ("Value", "Value (shop:VALUE of distribution shop-plugins 1.2) is not a plugin: it is of type int"),
        (
            "shop_raises:Raises",
            "shop_raises:Raises (shop_raises:Raises of distribution shop-plugins 1.2) is installed but ",
        ),
        ("HoistFeild", "cannot find plugin HoistFeild; did you mean HoistField? `penstock plugins` lists all plugins"),
        (
            "nowhere.at:All",
            "Class nowhere.at:All could not be found: no plugin has that name, and there is no Python module nowhere.",
        ),
    ],
)
@pytest.mark.usefixtures("site")
def test_one_that_cannot_be_used_says_why(name: str, message: str) -> None:
    done = penstock("plugins", name)
    assert done.returncode == 2
    assert done.stdout.startswith(message)


@pytest.mark.usefixtures("site")
def test_the_list_holds_what_works_and_then_what_is_broken() -> None:
    done = penstock("plugins")
    assert done.returncode == 0
    assert "FileStreamSource" in done.stdout
    assert done.stdout.count("\nbroken: ") == 7


def test_a_configuration_that_names_one_is_refused_with_the_cause(site: Path) -> None:
    (site / "a.json").write_text('{"name": "a", "connector.class": "shop_raises:Raises"}')
    done = penstock("validate", str(site / "a.json"))
    assert done.returncode == 2
    assert "No module named 'no_such_client'" in done.stderr


def test_a_plugin_is_shown_with_the_values_that_its_properties_take() -> None:
    shown = penstock("plugins", "HeaderFrom").stdout
    assert re.search(
        r"^  transforms\.<alias>\.plugin\.version  \(default (\S+); recommended \1\)$", shown, re.MULTILINE
    )
    assert "  operation  (STRING, required, HIGH; move, copy)\n" in shown
    found = json.loads(penstock("plugins", "HeaderFrom", "-o", "json").stdout)
    operation = {p["name"]: p for p in found}["operation"]
    assert (operation["type"], operation["required"], operation["default_value"]) == ("STRING", True, None)


def manifests(*versions: str, namespace: str = "shop", **spec: object) -> str:
    """A List of PluginVersions, as `kubectl get pluginversions --output=yaml` prints it."""
    digest = f"sha256:{'0' * 64}"
    usual = {"plugin": "ticker", "image": f"r.example/t@{digest}", "classes": [{"alias": "Ticker", "type": "source"}]}
    items = [
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "PluginVersion",
            "metadata": {"name": f"ticker-{v}", "namespace": namespace, "managedFields": []},
            "spec": {**usual, "version": v, **spec},
            "status": {"observedGeneration": 1},
        }
        for v in versions
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A file with four versions of a plugin, in no order."""
    file = tmp_path / "versions.yaml"
    file.write_text(manifests("1.10.0", "1.9.0", "2.0.0-rc1", "1.0.0"))
    return file


def test_each_version_has_a_row_and_they_increase_so_that_the_default_is_last(versions: Path) -> None:
    shown = penstock("plugins", "--plugin-versions", str(versions)).stdout
    rows = [line.split() for line in shown.splitlines() if line.startswith("Ticker ")]
    assert [row[2:-1] for row in rows] == [["1.0.0"], ["1.9.0"], ["1.10.0"], ["2.0.0-rc1", "(default)"]]
    assert [row[-1] for row in rows] == [f"ticker-{row[2]}" for row in rows]
    assert "FileStreamSource" in shown


def test_json_has_the_default_and_the_recommended_versions_the_latest_first(versions: Path) -> None:
    every = json.loads(penstock("plugins", "-o", "json", "--plugin-versions", str(versions)).stdout)
    found = [r for r in every if r["alias"] == "Ticker"]
    assert [r["version"] for r in found] == ["1.0.0", "1.9.0", "1.10.0", "2.0.0-rc1"]
    recommended = ["2.0.0-rc1", "1.10.0", "1.9.0", "1.0.0"]
    assert {(r["defaultVersion"], tuple(r["recommendedVersions"])) for r in found} == {
        ("2.0.0-rc1", tuple(recommended))
    }
    assert found[0]["pluginVersion"] == "ticker-1.0.0"
    (built_in,) = (r for r in every if r["alias"] == "HeaderFrom")
    assert built_in["recommendedVersions"] == [built_in["defaultVersion"]] == [built_in["version"]]


def test_one_version_or_a_range_is_shown_and_one_that_is_not_there_is_refused_with_those_that_are(
    versions: Path,
) -> None:
    def shown(version: str) -> Done:
        return penstock("plugins", "Ticker", "--version", version, "--plugin-versions", str(versions))

    assert shown("1.9").stdout.startswith("Ticker 1.9.0 (source)\n  PluginVersion ticker-1.9.0, image r.example/t@")
    assert [line for line in shown("[1.5,2)").stdout.splitlines() if line.startswith("Ticker")] == [
        "Ticker 1.9.0 (source)",
        "Ticker 1.10.0 (source)",
        "Ticker 2.0.0-rc1 (source)",
    ]
    assert shown("latest").stdout.startswith("Ticker 2.0.0-rc1 (source)\n")
    absent = shown("3.0")
    assert (absent.returncode, absent.stdout) == (
        2,
        "Plugin Ticker not found that matches the version range [3.0,3.0], available versions: "
        "[1.0.0, 1.9.0, 1.10.0, 2.0.0-rc1] (default: 2.0.0-rc1; recommended: 2.0.0-rc1, 1.10.0, 1.9.0, 1.0.0)\n",
    )
    assert "Unbounded range" in shown("(1.0").stdout


def test_a_missing_version_is_reported_once_and_not_for_each_stage_with_the_default_and_the_recommended_versions(
    tmp_path: Path,
) -> None:
    """KIP-891 attributes it to the class and to the version: both are named, and so is each stage that asks for it."""
    steps = {f"transforms.{s}.{n}": t for s in "ab" for n, t in (("type", "HoistField$Value"), ("plugin.version", "9"))}
    config = {"connector.class": "FileStreamSource", "topic": "t", "transforms": "a,b", **steps}
    (tmp_path / "a.json").write_text(json.dumps({"name": "a", "config": {**config, "connector.plugin.version": "8"}}))
    done = penstock("validate", str(tmp_path / "a.json"))
    of_class, of_steps = [line for line in done.stderr.splitlines() if "version range" in line]
    in_steps = "transforms.a.type, transforms.a.plugin.version, transforms.b.type, transforms.b.plugin.version"
    assert "connector.class, connector.plugin.version: Plugin FileStreamSource not found that matches" in of_class
    assert f"{in_steps}: Plugin HoistField not found that matches the version range [9,9], available" in of_steps
    assert all("] (default and recommended: " in line for line in (of_class, of_steps))


def test_what_is_no_plugin_version_or_one_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    def shown(text: str) -> Done:
        (tmp_path / "a.yaml").write_text(text)
        return penstock("plugins", "--plugin-versions", str(tmp_path / "a.yaml"))

    connector = shown("{kind: Connector, metadata: {name: a}}")
    assert (connector.returncode, "must be PluginVersion" in connector.stderr) == (2, True)
    assert "broken: PluginVersion ticker-1.0.0: spec.image" in shown(manifests("1.0.0", image="r.example/t:1")).stdout
    both = shown(manifests("1.0.0") + "\n---\n" + manifests("2.0.0", namespace="other"))
    assert (both.returncode, "of several namespaces (other, shop)" in both.stdout) == (2, True)
    assert "cannot be read" in penstock("plugins", "--plugin-versions", "nowhere.yaml").stderr
    assert "FileStreamSource" in shown(manifests()).stdout


KEY = ConfigKey(
    name="interval.ms",
    type="INT",
    required=False,
    default_value="1000",
    importance="HIGH",
    documentation="Milliseconds between two ticks.",
    display_name="interval.ms",
    valid="at least 1",
    minimum=1,
)
PACKED = pack([ClassDefinition(class_name="Ticker", type="source", version="1.0.0", config=(KEY,))])


def published(folder: Path, *others: dict[str, Any], digest: str = PACKED.digest) -> str:
    """A file with a PluginVersion whose status names a ConfigMap, and with other resources."""
    (document,) = json.loads(manifests("1.0.0"))["items"]
    document["status"] = {"definitions": {"configMap": "ticker-definitions-1", "digest": digest}}
    file = folder / "published.yaml"
    file.write_text("\n---\n".join(map(json.dumps, (document, *others))))
    return str(file)


def config_map(content: bytes = PACKED.content) -> dict[str, Any]:
    data = {"definitions.json.gz": base64.b64encode(content).decode()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ticker-definitions-1"}, "binaryData": data}


def test_the_configuration_that_a_plugin_version_has_published_is_shown(tmp_path: Path) -> None:
    file = published(tmp_path, config_map())
    shown = penstock("plugins", "Ticker", "--plugin-versions", file).stdout
    assert '\n  interval.ms  (INT, default "1000", HIGH; at least 1)\n      Milliseconds between two ticks.\n' in shown
    done = penstock("plugins", "Ticker", "--version", "1.0.0", "-o", "json", "--plugin-versions", file)
    assert json.loads(done.stdout) == [
        {
            "name": "interval.ms",
            "type": "INT",
            "required": False,
            "default_value": "1000",
            "importance": "HIGH",
            "documentation": "Milliseconds between two ticks.",
            "group": None,
            "order_in_group": -1,
            "width": "NONE",
            "display_name": "interval.ms",
            "dependents": [],
        }
    ]


@pytest.mark.parametrize(
    ("others", "digest", "told"),
    [
        (
            [],
            PACKED.digest,
            "cannot show the configuration of PluginVersion ticker-1.0.0: ConfigMap ticker-definitions-1, which holds it,",
        ),
        ([config_map()], "sha256:0", "cannot read ConfigMap ticker-definitions-1 of PluginVersion ticker-1.0.0"),
        ([config_map(b"")], PACKED.digest, "the content does not match the digest"),
        (
            [config_map(pack([]).content)],
            pack([]).digest,
            "cannot show the configuration of Ticker 1.0.0: PluginVersion ticker-1.0.0 has not published the definitions",
        ),
    ],
)
def test_a_configuration_that_was_not_given_or_is_another_than_the_status_names_is_not_shown(
    tmp_path: Path, others: list[dict[str, Any]], digest: str, told: str
) -> None:
    file = published(tmp_path, *others, digest=digest)
    assert told in penstock("plugins", "Ticker", "--plugin-versions", file).stdout
    done = penstock("plugins", "Ticker", "-o", "json", "--plugin-versions", file)
    assert (done.returncode, told in done.stdout) == (2, True)


def test_a_plugin_version_that_has_published_nothing_says_where_to_look(versions: Path) -> None:
    shown = penstock("plugins", "Ticker", "--version", "1.9", "--plugin-versions", str(versions)).stdout
    assert (
        "PluginVersion ticker-1.9.0: its configuration definitions have not been published; run "
        "`kubectl describe pluginversion ticker-1.9.0`" in shown
    )


def test_without_kubectl_a_namespace_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = penstock("plugins", "--namespace", "shop")
    assert (done.returncode, "kubectl is not installed; install it" in done.stderr) == (5, True)
