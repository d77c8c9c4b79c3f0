"""Two versions of one plugin, side by side, each from an image pinned by digest (KIP-891). With kubectl alone."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import regex._regex

from penstock_cli.plugin.archive import write_image
from penstock_cli.plugin.build import build

from ..plugin_images import add_distribution
from ..unit.cli.command import penstock
from .cluster import ROOT, Cluster
from .kafka import Kafka
from .place import Connector, Place, condition, task
from .release import Release

pytestmark = pytest.mark.own_cluster  # there is no registry: images are loaded into its node
_PYTHON_OF_IMAGES = 3, 11
EXAMPLE = ROOT / "examples" / "plugin-ticker"


@pytest.fixture(scope="module")
def images(kubernetes: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The example's images on the node, by version."""
    folder = tmp_path_factory.mktemp("images")
    built = {v: build(EXAMPLE / v, "plugins.example/ticker", folder / v) for v in ("1.0.0", "2.0.0")}
    kubernetes.component("load", *(str(b.archive) for b in built.values()))
    return {v: b.image for v, b in built.items()}


def plugin_version(version: str, image: str, **spec: Any) -> dict[str, Any]:
    whole = {
        "plugin": "penstock-ticker",
        "version": version,
        "image": image,
        "classes": [{"alias": "Ticker", "type": "source"}],
        **spec,
    }
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "spec": whole,
        "metadata": {"name": f"ticker-{version}"},
    }


def ticker(place: Place, name: str, config: Mapping[str, str] | None = None, **spec: Any) -> Connector:
    given = {"topic": f"{place.namespace}.{name}", "interval.ms": 50, **(config or {})}
    return place.connector(name, "Ticker", given, **spec)


def runs(connector: Connector, version: str, image: str) -> None:
    """Ready in this version: the status says so, for its task too, and its pod mounts that image."""
    found = connector.reaches("Running")
    assert found["status"]["connector"]["version"] == task(found)["versions"]["connector"] == version
    (pod,) = connector.pods().values()
    assert [v["image"]["reference"] for v in pod["spec"]["volumes"] if "image" in v] == [image]


def says(place: Place, name: str, reason: str, words: str, limit: float = 90) -> None:
    """A PluginVersion comes to say that of itself."""

    def claim(found: Any) -> bool | None:
        ready = condition(found or {})
        return (ready.get("reason") == reason and words in ready["message"]) or None

    place.cluster.api.until("pluginversions", place.namespace, name, claim, f"{reason}: {words}", limit)


def configuration(place: Place, name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The properties of a plugin in the namespace, as `penstock plugins` prints them, by name."""
    kubectl = Path(place.cluster.programs["kubectl"]).parent
    monkeypatch.setenv("PATH", f"{kubectl}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(place.cluster.kubeconfig))
    shown = penstock("plugins", name, "--namespace", place.namespace, "-o", "json")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return {k["name"]: k for k in json.loads(shown.stdout)}


def ticks(place: Place, topic: str, least: int) -> list[int]:
    return [json.loads(r.value or b"")["tick"] for r in place.kafka.records(topic, least=least)]


def test_two_versions_run_side_by_side_and_one_outlives_a_range_without_versions_and_its_own_resource(
    place: Place, images: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.cluster.kubectl("--namespace", place.namespace, "apply", "--filename", str(EXAMPLE))
    old, new = (Connector(place.cluster, place.namespace, name, {}) for name in ("old", "new"))
    runs(old, "1.0.0", images["1.0.0"])
    runs(new, "2.0.0", images["2.0.0"])
    for version in images:
        says(place, f"ticker-{version}", "Verified", "the declared classes, which were imported: Ticker")
    assert configuration(place, "Ticker", monkeypatch)["interval.ms"]["type"] == "INT"
    header, *rows = old.kubectl("get", "connectors", "--output=wide").splitlines()
    at = header.index(" VERSION") + 1
    assert [row[at:].split()[0] for row in sorted(rows)] == ["2.0.0", "1.0.0"]

    (definitions,) = old.kubectl(
        "get", "pluginversion", "ticker-1.0.0", "--output=jsonpath={.status.definitions.configMap}"
    ).split()
    lives = old.lives()
    old.kubectl("patch", "connector", "old", "--type=merge", "--patch", '{"spec":{"version":"[3,)"}}')
    old.says(
        "PluginVersionMissing",
        "(default: 2.0.0; recommended: 2.0.0, 1.0.0); the tasks keep the last good configuration",
    )
    assert condition(old.get(), "ConfigValid")["status"] == "False"
    assert old.lives() == lives

    old.kubectl("delete", "pluginversion", "ticker-1.0.0")
    place.cluster.api.until(
        "configmaps", place.namespace, definitions, lambda found: found is None, "is deleted with it"
    )
    old.kubectl("delete", "pod", "--selector=penstock.dev/connector=old")
    old.until(lambda c: task(c).get("incarnation") == 2 and task(c).get("state") == "Running", "its task is back", 90)
    assert task(old.get())["versions"]["connector"] == "1.0.0"
    before = ticks(place, "ticks-old", 1)
    after = ticks(place, "ticks-old", len(before) + 2)
    assert after == list(range(len(after)))  # nothing lost, nothing doubled


@pytest.mark.slow
def test_a_newer_version_in_range_is_taken_when_a_restart_asks_and_neither_for_scale_pause_nor_another_operator(
    place: Place, images: dict[str, str]
) -> None:
    place.apply(plugin_version("1.0.0", images["1.0.0"]))
    one = ticker(place, "one")
    runs(one, "1.0.0", images["1.0.0"])
    place.apply(plugin_version("2.0.0", images["2.0.0"]))
    one.apply(tasksMax=2)
    runs(one, "1.0.0", images["1.0.0"])
    one.apply(state="Paused")
    one.reaches("Paused")
    one.apply(state="Running")
    runs(one, "1.0.0", images["1.0.0"])
    one.annotate(restart="a")
    one.until(lambda c: c["status"]["connector"]["version"] == "2.0.0", "the newer version")
    runs(one, "2.0.0", images["2.0.0"])
    after = ticks(place, one.topic, 100)
    assert after == list(range(len(after)))


@pytest.mark.slow
def test_an_image_that_is_not_there_or_holds_something_else_reaches_no_running_task(
    place: Place, images: dict[str, str]
) -> None:
    missing = f"plugins.example/ticker@sha256:{'0' * 64}"
    place.apply(
        plugin_version("1.0.0", images["1.0.0"]),
        plugin_version("3.0.0", missing),
        plugin_version("4.0.0", images["2.0.0"]),
        plugin_version("5.0.0", images["2.0.0"], path="/elsewhere"),
    )
    one = ticker(place, "one", version="1.0.0")
    runs(one, "1.0.0", images["1.0.0"])
    lives = one.lives()
    one.apply(version="4.0.0")
    one.says(
        "ConfigInvalid",
        "the PluginVersion ticker-4.0.0 declares penstock-ticker 4.0.0, but its image",
        "contains penstock-ticker 2.0.0",
        "the tasks keep the last good configuration",
    )
    one.apply(version="5.0.0")
    one.says("ConfigInvalid", "has no folder at the path that the PluginVersion names", "the tasks keep")
    one.apply(version="3.0.0")
    one.until(lambda c: missing in str(condition(c).get("message")), "the image is named that cannot be had", 90)
    assert one.lives() == lives
    assert task(one.get())["state"] == "Running"
    one.apply(version="1.0.0")
    runs(one, "1.0.0", images["1.0.0"])
    assert one.lives() == lives


MARK = """
from penstock import Converter

class Mark(Converter):
    def from_connect(self, topic, schema, value):
        return b"VERSION" if value is not None else None

    def to_connect(self, topic, data):
        return None, data
"""


def marks(
    place: Place, folder: Path, version: str, more: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], str]:
    """A PluginVersion of a converter, and its image, which is loaded."""
    modules: dict[str, str | bytes] = {"acme/mark.py": MARK.replace("VERSION", version), **(more or {})}
    add_distribution(folder / version, "acme-mark", version, modules, {"MarkConverter": "acme.mark:Mark"})
    archive = folder / f"{version}.tar"
    image = write_image(folder / version, "plugins.example/mark", archive)
    place.cluster.component("load", str(archive))
    classes = [{"alias": "MarkConverter", "type": "converter"}]
    found = plugin_version(version, image, plugin="acme-mark", classes=classes)
    return {**found, "metadata": {"name": f"mark-{version}"}}, image


@pytest.mark.slow
def test_a_converter_comes_from_an_image_of_its_own_in_a_version_of_its_own(
    place: Place, images: dict[str, str], tmp_path: Path
) -> None:
    two, image = marks(place, tmp_path, "2.0.0")
    three, _ = marks(place, tmp_path, "3.0.0", {"penstock_ticker/__init__.py": "raise ImportError"})
    place.apply(plugin_version("1.0.0", images["1.0.0"]), two, three)
    mark = {"value.converter": "Mark", "value.converter.plugin.version": "2.0.0"}
    one = ticker(place, "one", mark, version="1.0.0")
    found = one.reaches("Running")
    assert found["status"]["pluginVersions"] == ["mark-2.0.0", "ticker-1.0.0"]
    versions = task(found)["versions"]
    assert (versions["connector"], versions["valueConverter"]) == ("1.0.0", "2.0.0")
    (pod,) = one.pods().values()
    assert [v["image"]["reference"] for v in pod["spec"]["volumes"] if "image" in v] == [images["1.0.0"], image]
    assert {r.value for r in place.kafka.records(one.topic, least=2)} == {b"2.0.0"}
    for name in ("mark-2.0.0", "ticker-1.0.0"):
        one.kubectl("wait", f"pluginversion/{name}", "--for=jsonpath={.status.usedBy[0]}=one", "--timeout=30s")

    lives = one.lives()
    patch = '{"spec":{"config":{"value.converter.plugin.version":"3.0.0"}}}'
    one.kubectl("patch", "connector", "one", "--type=merge", "--patch", patch)
    one.says(
        "ConfigInvalid",
        "the PluginVersion mark-3.0.0 contains the module penstock_ticker",
        "and the PluginVersion ticker-1.0.0 contains penstock_ticker",
        "the tasks keep the last good configuration",
    )
    assert one.lives() == lives


@pytest.mark.slow
def test_a_plugin_with_packages_and_native_code_of_its_own_runs_in_sparks_workers(place: Place, tmp_path: Path) -> None:
    source = (ROOT / "tests" / "integration" / "plugins" / "numbers_source.py").read_text()
    modules: dict[str, str | bytes] = {"acme_beside/__init__.py": ""}
    if sys.version_info[:2] == _PYTHON_OF_IMAGES:  # else there is no native code here that it can load
        native = Path(regex._regex.__file__)
        modules[f"acme_beside/{native.name}"] = native.read_bytes()
        source = (
            f"from acme_beside import _regex\nassert _regex.__file__.startswith('/etc/penstock/plugins/0/')\n{source}"
        )
    folder = tmp_path / "plugin"
    modules["acme_numbers.py"] = f"import acme_beside\n{source}"
    add_distribution(folder, "acme-numbers", "1.0.0", modules, {"Numbers": "acme_numbers:Numbers"})
    add_distribution(folder, "pydantic", "1.0", {"pydantic/__init__.py": "raise ImportError('a copy of the image')"})
    image = write_image(folder, "plugins.example/numbers", tmp_path / "numbers.tar")
    place.cluster.component("load", str(tmp_path / "numbers.tar"))
    classes = [{"alias": "Numbers", "type": "source"}]
    place.apply(plugin_version("1.0.0", image, plugin="acme-numbers", classes=classes))
    by_workers = f"{place.namespace}.by-workers"
    config = {
        "topic": f"{place.namespace}.numbers",
        "astray": by_workers,
        "batch.max.records": 2000,
        "value.converter": "StringConverter",
    }
    numbers = place.connector("numbers", "Numbers", config, spark={"start": "Eager"})
    numbers.reaches("Running")
    assert place.kafka.records(by_workers, least=1)
    assert "contains pydantic 1.0" in condition(numbers.get(), "ConfigValid")["message"]


FORGED = """{"apiVersion":"penstock.dev/last-word/v1","exitCode":0,"message":"forged"}"""
BROKEN: Mapping[str, tuple[str, str, str]] = {
    "absent": ("import acme_absent", "VerificationFailed", "No module named 'acme_absent'; install the package"),
    "endless": ("while True: pass", "VerificationFailed", "the import of Trim did not end within"),
    "greedy": ("x = []\nwhile True: x.append(bytes(10_000_000))", "OOMKilled", "more memory than its limit of 512Mi"),
    "ends": ("import os; os._exit(0)", "VerificationFailed", "the process exited with code 0"),
    "forges": (
        f"""
import os, signal
forged = {FORGED!r}
print(forged, flush=True)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    os.kill(1, number)
for file in ("/proc/1/mem", "/proc/1/fd/1", "/proc/1/environ"):
    try:
        open(file, "rb").close()
    except PermissionError:
        continue
    os._exit(7)  # process 1 is open to this one
if os.fork() == 0:
    os.setsid()
    while True:
        open("/dev/termination-log", "w").write(forged)
raise ValueError("after all of that")
""",
        "VerificationFailed",
        "ValueError: after all of that",
    ),
}


@pytest.mark.slow
def test_a_plugin_version_is_not_ready_where_its_image_is_broken_whatever_that_does_to_look_well(
    place: Place, images: dict[str, str], tmp_path: Path
) -> None:
    giant = "import sys\nfor n in range(20_000): sys.stdout.write('x' * 10_000)\nfrom penstock import Transform\n"
    giant += "class Trim(Transform):\n  def apply(self, record): return record\n"
    codes = {name: code for name, (code, _, _) in BROKEN.items()} | {"giant": giant}
    missing = f"plugins.example/ticker@sha256:{'0' * 64}"
    archives, found = [], [plugin_version("4.0.0", images["2.0.0"]), plugin_version("5.0.0", missing)]
    for name, code in codes.items():
        add_distribution(tmp_path / name, "acme-trim", "1.0.0", {"acme_trim.py": code}, {"Trim": "acme_trim:Trim"})
        archives.append(tmp_path / f"{name}.tar")
        image = write_image(tmp_path / name, f"plugins.example/{name}", archives[-1])
        made = plugin_version("1.0.0", image, plugin="acme-trim", classes=[{"alias": "Trim", "type": "transform"}])
        found.append({**made, "metadata": {"name": name}})
    place.cluster.component("load", *map(str, archives))
    place.apply(*found)
    expected = {name: (reason, words) for name, (_, reason, words) in BROKEN.items()}
    expected |= {
        "giant": ("Verified", "are imported: Trim"),
        "ticker-4.0.0": ("VerificationFailed", "declares penstock-ticker 4.0.0, but its image"),
        "ticker-5.0.0": ("ErrImagePull", missing),
    }
    for name, (reason, words) in expected.items():
        says(place, name, reason, words, limit=240)


@pytest.fixture
def copying(release: Release, kafka: Kafka) -> Iterator[None]:
    """The release with `plugins.mount: InitContainer`."""
    usual = {"task": {"nodeLostSeconds": 10}}
    release.install({"bootstrap.servers": kafka.servers}, **usual, plugins={"mount": "InitContainer"})
    yield
    release.install({"bootstrap.servers": kafka.servers}, **usual)


@pytest.mark.slow
@pytest.mark.usefixtures("copying")
def test_without_image_volumes_init_containers_copy_images_that_hold_no_program(
    place: Place, images: dict[str, str], tmp_path: Path
) -> None:
    two, image = marks(place, tmp_path, "2.0.0")
    good = plugin_version("1.0.0", images["1.0.0"])
    wrong = [
        {**good, "metadata": {"name": name}, "spec": {**good["spec"], "path": path}}
        for name, path in (("elsewhere", "/elsewhere"), ("whole", "/"))
    ]
    place.apply(good, two, *wrong)
    says(place, "ticker-1.0.0", "Verified", "are imported: Ticker")
    says(place, "elsewhere", "VerificationFailed", "has no folder at the path that the PluginVersion names")
    says(place, "whole", "InitContainerFailed", "spec.path of the PluginVersion is /")
    place.cluster.kubectl("--namespace", place.namespace, "delete", "pluginversion", "elsewhere", "whole")
    mark = {"value.converter": "Mark", "value.converter.plugin.version": "2.0.0"}
    one = ticker(place, "one", mark, version="1.0.0")
    found = one.reaches("Running")
    assert found["status"]["pluginVersions"] == ["mark-2.0.0", "ticker-1.0.0"]
    (pod,) = one.pods().values()
    assert [c["image"] for c in pod["spec"]["initContainers"][1:]] == [images["1.0.0"], image]
    assert not [v for v in pod["spec"]["volumes"] if "image" in v]
    assert {r.value for r in place.kafka.records(one.topic, least=2)} == {b"2.0.0"}
