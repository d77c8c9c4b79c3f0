"""Images of several PluginVersions in one pod: what of them contradicts, and what goes together (KIP-891)."""

import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.plugin_images import add_distribution, mount

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_runtime.plan.image_agreement import check_agreement
from penstock_runtime.plugins.image_modules import modules_of, overlapping
from penstock_runtime.plugins.mounted import own_distribution

REMEDY = "use versions that contain the same one, or build one image with both plugins"
OLD = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"


class Images:
    """A connector's image, and one for a transform."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first: PluginMount = self._image("files", "1.0", "connector")
        self.second: PluginMount = self._image("smts", "2.0", "transforms.t")

    def _image(self, name: str, version: str, place: str) -> PluginMount:
        add_distribution(self.folder / name, name, version, {f"{name}_code.py": ""})
        return mount(self.folder / name, name, version, places=[place])

    def add(
        self, of: PluginMount, name: str, version: str, *paths: str, texts: Mapping[str, str] | None = None, **more: str
    ) -> None:
        modules = {**dict.fromkeys(paths, ""), **(texts or {})}
        lines = [f"{field.replace('_', '-')}: {text}" for field, text in more.items() if field != "tag"]
        add_distribution(Path(of.folder), name, version, modules, metadata=lines, tag=more.get("tag"))

    def told(self, *mounts: PluginMount) -> list[str]:
        return [str(p) for p in check_agreement(mounts or [self.first, self.second])]


@pytest.fixture
def images(tmp_path: Path) -> Images:
    return Images(tmp_path)


def test_images_of_different_plugins_go_together_also_with_equal_packages_next_to_them(images: Images) -> None:
    for of in (images.first, images.second):
        images.add(of, "acme-common", "1.5", "acme_common/__init__.py", "acme_common/more.py", tag="py3-none-any")
    assert images.told() == []
    assert images.told(images.first) == []


def test_a_distribution_in_two_versions_is_refused_with_both_and_the_remedy(images: Images) -> None:
    images.add(images.first, "Acme.Common", "1.0", "acme_common/__init__.py")
    images.add(images.second, "acme-common", "2.0", "acme_common/__init__.py")
    (told,) = images.told()
    assert told.startswith(
        "transforms.t.type: the PluginVersion smts-2.0 contains acme-common 2.0, and the PluginVersion"
    )
    assert "files-1.0 contains acme-common 1.0; a process imports only one of them; " in told
    assert told.endswith(REMEDY)


def test_one_module_of_two_distributions_is_refused_once_with_both(images: Images) -> None:
    images.add(images.first, "one", "1", "shared/__init__.py", "other.py")
    images.add(images.second, "two", "1", "shared/__init__.py", "other.py")
    (told,) = images.told()
    assert (
        "smts-2.0 contains the module other (of two), and the PluginVersion files-1.0 contains other (of one); a process"
        in told
    )


@pytest.mark.parametrize("loose", [("shared.py",), ("shared/__init__.py", "shared/x.py"), ("shared.abi3.so",)])
def test_a_module_of_no_distribution_is_refused_too(images: Images, loose: Sequence[str]) -> None:
    for name in loose:
        (Path(images.first.folder) / name).parent.mkdir(exist_ok=True)
        (Path(images.first.folder) / name).write_text("")
    images.add(images.second, "two", "1", "shared.py")
    (told,) = images.told()
    assert (
        "contains the module shared (of two), and the PluginVersion files-1.0 contains shared (of no distribution)"
        in told
    )


@pytest.mark.parametrize("mark", [None, OLD])
def test_namespace_packages_go_together_and_their_packages_are_compared(images: Images, mark: str | None) -> None:
    top = {} if mark is None else {"acme/__init__.py": mark}
    images.add(images.first, "one", "1", "acme/files/__init__.py", "acme/deep/a.py", texts=top)
    images.add(images.second, "two", "1", "acme/smts/__init__.py", "acme/deep/b.py", texts=top)
    assert images.told() == []
    images.add(images.second, "three", "1", "acme/files/__init__.py")
    assert "contains the module acme.files (of three), and" in images.told()[0]


def test_a_package_by_the_name_of_a_namespace_hides_it_and_is_refused(images: Images) -> None:
    images.add(images.first, "one", "1", "acme/__init__.py")
    images.add(images.second, "two", "1", "acme/smts/__init__.py")
    assert "contains the module acme.smts (of two), and the PluginVersion files-1.0 contains acme (" in images.told()[0]
    (told,) = images.told(images.second, images.first)
    assert "contains the module acme (of one), and the PluginVersion smts-2.0 contains acme.smts (of two)" in told


def test_files_that_are_no_modules_may_have_one_name(images: Images) -> None:
    for number, of in enumerate((images.first, images.second)):
        paths = ("bin/tool.py", "share/doc/README.txt", "LICENSE", "not-a-module.py", "__pycache__/x.cpython-311.pyc")
        images.add(of, f"dist-{number}", "1", *paths)
    assert images.told() == []


def test_copies_of_what_the_runtime_has_are_not_compared_since_they_are_not_used(images: Images) -> None:
    images.add(images.first, "pydantic", "1.0", "pydantic/__init__.py", Requires_Dist="typing-extensions<1")
    images.add(images.second, "pydantic", "2.0", "pydantic/__init__.py", tag="cp27-none-win32")
    assert images.told() == []


def test_a_requirement_that_the_runtimes_package_does_not_meet_is_refused_with_both_versions(images: Images) -> None:
    own = own_distribution("pydantic", [])
    assert own is not None
    images.add(images.first, "old", "1.0", "old.py", Requires_Dist="pydantic (<2)")
    (told,) = images.told()
    assert told == (
        "spec.class: the PluginVersion files-1.0 contains old 1.0, which needs pydantic<2, but the runtime has pydantic "
        f"{own.version}, which is imported; use a version of old that is compatible with it"
    )


@pytest.mark.parametrize(
    "requirement",
    [
        "pydantic>=2",
        "pydantic",
        "penstock>=0.0.1",
        "pydantic<2 ; extra == 'old'",
        "pydantic<2 ; python_version < '3'",
        "not there at all???",
        "not-there>=7",
    ],
)
def test_requirements_that_are_met_or_concern_nobody_here_are_no_problem(images: Images, requirement: str) -> None:
    images.add(images.first, "new", "1.0", "new.py", Requires_Dist=requirement)
    assert images.told() == []


def test_a_requirement_may_be_met_by_another_image_and_is_refused_where_it_is_not(images: Images) -> None:
    images.add(images.first, "base", "3.0", "base.py")
    images.add(images.second, "above", "1.0", "above.py", Requires_Dist="base>=3")
    assert images.told() == []
    images.add(images.second, "beyond", "1.0", "beyond.py", Requires_Dist="base>=4")
    (told,) = images.told()
    assert "needs base>=4, but the PluginVersion files-1.0 contains base 3.0" in told


def test_what_is_built_for_another_python_or_machine_is_refused_with_both(images: Images) -> None:
    images.add(images.first, "native", "1.0", "native.py", tag="cp27-cp27mu-manylinux1_x86_64")
    images.add(images.second, "future", "1.0", "future.py", Requires_Python=">=9")
    native, future = images.told()
    assert "contains native 1.0 built for cp27-cp27mu-manylinux1_x86_64, but the runtime is Python " in native
    assert platform.python_version() in native
    assert "contains future 1.0, which needs Python >=9, but the runtime is Python " in future


def test_code_for_this_python_and_pure_code_are_good(images: Images) -> None:
    this = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    images.add(images.first, "native", "1.0", "native.py", tag=f"{this}-{this}-linux_{platform.machine()}")
    images.add(images.second, "pure", "1.0", "pure.py", tag="py2.py3-none-any", Requires_Python=">=3.8")
    assert images.told() == []


def test_modules_are_found_by_their_files_and_belong_to_their_distribution(tmp_path: Path) -> None:
    add_distribution(tmp_path, "One", "1", {"a.py": "", "ns/b/__init__.py": "", "ns/c.py": "", "d/__init__.py": ""})
    (tmp_path / "e.py").write_text("")
    one, none = frozenset({"one"}), frozenset[str]()
    assert modules_of(str(tmp_path)) == {"a": one, "d": one, "e": none, "ns.b": one, "ns.c": one}
    assert [*overlapping({"a": one, "ns": one}, {"a": none, "ns.b": none})] == [("a", "a"), ("ns", "ns.b")]
    assert [*overlapping({"ns.b": one}, {"ns": none})] == [("ns.b", "ns")]


@pytest.mark.parametrize("mark", ["# needs no extend_path\n", "x = 'declare_namespace'\n"])
def test_a_package_that_only_speaks_of_namespaces_is_none(images: Images, mark: str) -> None:
    images.add(images.first, "one", "1", "acme/p.py", texts={"acme/__init__.py": mark})
    images.add(images.second, "two", "1", "acme/q.py", texts={"acme/__init__.py": mark})
    assert "contains the module acme (of two), and" in images.told()[0]


def test_what_one_image_brings_is_its_authors_and_libraries_next_to_modules_are_none(images: Images) -> None:
    images.add(images.first, "base", "2.0", "base.py")
    images.add(images.first, "above", "1.0", "above.py", Requires_Dist="base<2")
    images.add(images.first, "one", "1", "lib/libomp.so", "lib/python/x.txt")
    images.add(images.second, "two", "1", "lib/libomp.so")
    assert images.told() == []
    assert images.told(images.first) == []


def test_a_package_in_the_folder_bin_counts(images: Images) -> None:
    images.add(images.first, "one", "1", "bin/__init__.py")
    images.add(images.second, "two", "1", "bin/__init__.py")
    assert "contains the module bin (of two), and" in images.told()[0]


def test_requirements_of_extras_that_are_asked_for_count(images: Images) -> None:
    images.add(images.first, "base", "1.0", "base.py", Requires_Dist="pydantic<2; extra == 'old'")
    assert images.told() == []
    images.add(images.second, "above", "1.0", "above.py", Requires_Dist="base[old]")
    assert "contains base 1.0, which needs pydantic<2" in images.told()[0]


def test_one_version_in_two_forms_is_one_version(images: Images) -> None:
    images.add(images.first, "base", "1.0", "base.py")
    images.add(images.second, "base", "1.0.0", "base.py")
    assert images.told() == []


@pytest.mark.parametrize("files", [None, "", "\n,,,,,\n\n"], ids=["no RECORD", "an empty one", "an odd one"])
@pytest.mark.parametrize("top", [None, "six_code\n"])
def test_equal_distributions_that_list_no_files_go_together(images: Images, files: str | None, top: str | None) -> None:
    name = "six_code" if top is None else "other-name"
    for of in (images.first, images.second):
        images.add(of, name, "1.16", "six_code.py")
        (info,) = (p for p in Path(of.folder).iterdir() if p.name.endswith("-1.16.dist-info"))
        (info / "RECORD").unlink()
        if files is not None:
            (info / "RECORD").write_text(files)
        if top is not None:
            (info / "top_level.txt").write_text(top)
    assert images.told() == []


@pytest.mark.parametrize("tag", ["", "py3", "\N{SNOWMAN}"])
def test_metadata_of_any_form_harms_nobody(images: Images, tag: str) -> None:
    images.add(images.first, "one", "1", "one.py", Requires_Dist="x; python_version ~= '3'", tag=tag)
    images.add(images.first, "two", "1", "two.py", Requires_Python="new", Requires_Dist="pydantic ==what")
    (info,) = (p for p in Path(images.first.folder).iterdir() if p.name == "one-1.dist-info")
    (info / "WHEEL").write_bytes((info / "WHEEL").read_bytes() + b"Tag: \xff\xfe\n")
    (Path(images.first.folder) / "itself").symlink_to("itself")
    (Path(images.second.folder) / "pack").mkdir()
    (Path(images.second.folder) / "pack" / "__init__.py").symlink_to("nowhere")
    assert images.told() == []
