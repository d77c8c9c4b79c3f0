"""`plugins.mount: InitContainer`: images of PluginVersions without image volumes, and without a program of their own."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.plugin_images import mount as mount_of

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.plans import PodSettings
from penstock_operator.connector.policy.template_policy import refusals
from penstock_operator.connector.render.plugin_volumes import plugin_volumes
from penstock_operator.connector.render.pod_spec import pod_spec
from penstock_operator.settings import Settings

CONTEXT = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}


def settings(how: str = "InitContainer") -> Settings:
    return Settings.of(
        {
            "release": {"name": "penstock", "namespace": "ops"},
            "worker": {"bootstrap.servers": "kafka:9092"},
            "images": {"runtime": "runtime:2"},
            "plugins": {"mount": how},
            "task": {"temporarySize": "1Gi", "securityContext": CONTEXT},
        }
    )


def images(count: int) -> list[PluginMount]:
    found = mount_of(Path("/etc/penstock/plugins/0/opt/plugin"), "acme", "1.0.0")
    return [found.numbered(n, (f"place-{n}",)) for n in range(count)]


def spec(count: int, how: str = "InitContainer") -> dict[str, Any]:
    given = settings(how)
    return pod_spec(given, "task", ("module", "file"), PodSettings.of(given, ()), images(count), reports_missing=False)


def test_each_image_is_copied_by_a_container_of_its_own_with_a_program_of_the_runtime() -> None:
    made = spec(2)
    copier, first, second = made["initContainers"]
    assert (copier["name"], copier["image"]) == ("penstock-plugin-copier", "runtime:2")
    assert [c["name"] for c in (first, second)] == ["penstock-plugin-0", "penstock-plugin-1"]
    assert {c["image"] for c in (first, second)} == {images(1)[0].image}
    assert {tuple(c["securityContext"].items()) for c in made["initContainers"]} == {tuple(CONTEXT.items())}
    copied = {v["name"]: v["emptyDir"] for v in made["volumes"] if v["name"].startswith("penstock-plugin")}
    assert copied == {f"penstock-plugin-{n}": {"sizeLimit": "1Gi"} for n in ("copier", "0", "1")}
    mounts = [m for m in made["containers"][0]["volumeMounts"] if m["name"].startswith("penstock-plugin")]
    assert [(m["mountPath"], m["readOnly"]) for m in mounts] == [
        ("/etc/penstock/plugins/0", True),
        ("/etc/penstock/plugins/1", True),
    ]


@pytest.mark.parametrize(("count", "how"), [(0, "InitContainer"), (2, "ImageVolume")])
def test_there_are_no_init_containers_without_images_or_with_image_volumes(count: int, how: str) -> None:
    assert "initContainers" not in spec(count, how)


def test_a_template_cannot_put_a_container_of_its_own_in_the_place_of_one_that_copies() -> None:
    document = {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"name": "a", "namespace": "shop", "uid": "u"},
        "spec": {"class": "Ticker", "template": {"initContainers": [{"name": "penstock-plugin-0", "image": "evil"}]}},
    }
    (problem,) = refusals(Connector.draft(document), settings())
    assert problem.property == "spec.template.initContainers[penstock-plugin-0]"


class Image:
    """The script that copies, run with this machine's busybox, in folders in place of those of a container."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.target = folder / "image", folder / "target"

    def copy(self, path: str) -> "subprocess.CompletedProcess[str]":
        given = images(1)[0].model_copy(update={"folder": f"/etc/penstock/plugins/0{path}".rstrip("/")})
        (_, container) = plugin_volumes([given], "InitContainer", {}, "").init_containers
        _, sh, flag, script, _, source, target = container["command"]
        assert (sh, flag, source, target) == ("sh", "-c", path, f"/penstock-plugin{path}")
        program = self.folder.parent / "program"
        program.write_text('#!/bin/sh\nexec "$@"\n')
        program.chmod(0o755)
        there = path if path == "/" else f"{self.folder}{path}"
        return subprocess.run(
            ["sh", flag, script, str(program), there, f"{self.target}{path}"],
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def copied(tmp_path: Path) -> Image:
    return Image(tmp_path)


def test_the_folder_is_copied_as_it_is(copied: Image) -> None:
    inner = copied.folder / "opt" / "plugin" / "acme" / "a b"
    inner.mkdir(parents=True)
    (inner / "x.py").write_text("1")
    (inner / "run").write_text("2")
    (inner / "run").chmod(0o755)
    (inner / "link").symlink_to("x.py")
    assert copied.copy("/opt/plugin").returncode == 0
    there = copied.target / "opt" / "plugin" / "acme" / "a b"
    assert (there / "x.py").read_text() == "1"
    assert (there / "run").stat().st_mode & 0o100
    assert (there / "link").readlink() == Path("x.py")


def test_a_jar_is_copied_under_its_name(copied: Image) -> None:
    (copied.folder / "plugins").mkdir(parents=True)
    (copied.folder / "plugins" / "acme.jar").write_text("jar")
    assert copied.copy("/plugins/acme.jar").returncode == 0
    assert (copied.target / "plugins" / "acme.jar").read_text() == "jar"


def test_several_java_classes_of_one_folder_are_mounted_once() -> None:
    one = images(1)[0].model_copy(update={"runtime": "Java"})
    others = [one.model_copy(update={"plugin": f"com.acme.C{n}"}) for n in range(2)]
    for how in ("ImageVolume", "InitContainer"):
        found = plugin_volumes([one, *others, one.numbered(1, ())], how, {}, "")
        assert [p["mountPath"] for p in found.places] == ["/etc/penstock/plugins/0", "/etc/penstock/plugins/1"]


def test_a_folder_that_is_not_there_is_left_to_the_pod_that_looks_for_it(copied: Image) -> None:
    assert copied.copy("/elsewhere").returncode == 0
    assert not copied.target.exists()


def test_a_whole_image_is_not_copied_and_the_message_says_what_to_do(copied: Image) -> None:
    done = copied.copy("/")
    assert done.returncode == 1
    assert "spec.path of the PluginVersion is /" in done.stderr
