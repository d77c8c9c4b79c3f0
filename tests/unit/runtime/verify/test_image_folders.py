"""What a verifying pod says of a folder in an image before a JVM looks into it: links, files, and what cannot be read."""

import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from penstock import ConfigError, ConnectError
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_runtime.plan import mounted_images
from penstock_runtime.verify import java_classes

IMAGE = f"quay.example/connect@sha256:{'0' * 64}"


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a pod has the image. Absolute links in it lead to files that are not of the image."""
    for module in (java_classes, mounted_images):
        monkeypatch.setattr(module, "PLUGINS_DIR", str(tmp_path / "plugins"))
    folder = tmp_path / "plugins" / "0"
    (folder / "connect").mkdir(parents=True)
    return folder


def jar(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as content:
        content.writestr("nothing.txt", "")
    return path


def mount(image: Path, path: str) -> PluginMount:
    return PluginMount(name="java", plugin="", version="", image=IMAGE, folder=f"{image}{path}", runtime="Java")


def refused(image: Path, path: str = "/connect") -> str:
    with pytest.raises(ConfigError) as e:
        java_classes.list_classes(mount(image, path))
    return "; ".join(p.message for p in e.value.problems)


def test_a_path_of_a_jar_is_refused_with_what_to_set(image: Path) -> None:
    jar(image / "connect" / "acme.jar")
    text = f"the image {IMAGE} has a file /connect/acme.jar, not a folder; set spec.path to the folder that contains it"
    assert refused(image, "/connect/acme.jar") == text


def test_a_path_that_is_a_link_out_of_the_image_is_refused_wherever_it_leads(image: Path, tmp_path: Path) -> None:
    jar(tmp_path / "runtime" / "of-the-runtime.jar")
    for name, target in (("there", tmp_path / "runtime"), ("nowhere", Path("/opt/plugins"))):
        (image / name).symlink_to(target)
        assert f"has no folder /{name}, but a link to {target}, which is outside of it; set spec.path" in refused(
            image, f"/{name}"
        )


def test_jars_and_plugins_that_are_links_out_of_the_image_are_refused_with_their_targets(
    image: Path, tmp_path: Path
) -> None:
    """A class of the runtime's image would run in place of the plugin's."""
    outside = jar(tmp_path / "runtime" / "of-the-runtime.jar")
    link = image / "connect" / "acme"
    link.symlink_to(outside.parent)
    text = (
        f"links in the image {IMAGE} have targets that pods do not mount: /connect/acme (to {outside.parent}); replace"
    )
    assert refused(image).startswith(text)
    link.unlink()
    for n in range(5):
        jar(image / "connect" / "acme" / "acme.jar").with_name(f"lib-{n}.jar").symlink_to(f"/usr/share/java/{n}.jar")
    text = refused(image)
    assert ": /connect/acme/lib-0.jar (to /usr/share/java/0.jar), " in text
    assert "/connect/acme/lib-2.jar (to /usr/share/java/2.jar) and 2 more; replace the links with the files" in text


def test_a_folder_with_nothing_but_a_link_to_the_plugin_says_so(image: Path) -> None:
    (image / "connect" / "acme").symlink_to("/opt/acme")
    text = refused(image)
    assert text.startswith("cannot find plugins in /connect: it contains no jar; build another image, or set spec.path")
    assert "have targets that pods do not mount" in text
    assert "/connect/acme (to /opt/acme); replace the links with the files" in text


def test_a_broken_jar_is_refused_without_the_advice_to_download_it(image: Path) -> None:
    (image / "connect" / "acme.jar").write_text("no jar")
    text = "cannot read the jar /connect/acme.jar: File is not a zip file; build another image, or set spec.path to another"
    assert refused(image).startswith(text)


def test_a_folder_that_the_pods_user_may_not_read_is_reported_and_looked_into_again(image: Path) -> None:
    (image / "connect").chmod(0)
    was_root = os.geteuid() == 0
    if was_root:  # who may read everything
        os.seteuid(65534)
    try:
        with pytest.raises(
            ConnectError, match=r"Permission denied; make all files in the folder of spec.path readable for every user"
        ):
            java_classes.list_classes(mount(image, "/connect"))
    finally:
        if was_root:
            os.seteuid(0)
        (image / "connect").chmod(0o700)
