"""Pages of the documentation site, as the generator and readers of Markdown get them; pages made of the code."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from scripts.docs_site.navigation import Entry, navigation
from scripts.docs_site.pages import Page
from scripts.docs_site.publishing import add_versions, index
from scripts.docs_site.staging import Site, address

from penstock_operator.reasons import Reason, Use

from ...e2e.truth.table import GROUPS
from .pages import ROOT, text_of


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A repository with pages in `docs`."""
    folder = tmp_path / "docs"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.yaml").write_text("")
    (folder / "other.md").write_text("# The other page\n## Part\n")
    (folder / "inner" / "README.md").write_text("# Inner\n")
    (folder / "picture.png").write_bytes(b"")
    return folder


def page(docs: Path, text: str, name: str = "page.md") -> Page:
    (docs / name).write_text(text)
    return Page(docs / name)


def site(docs: Path, repository: str = "") -> Site:
    return Site(docs.parent, docs, repository)


@pytest.mark.parametrize(
    ("path", "expected"), [("a.md", "a/"), ("a/b.md", "a/b/"), ("a/README.md", "a/"), ("index.md", "")]
)
def test_a_page_has_the_address_of_its_path(path: str, expected: str) -> None:
    assert address(path) == expected


@pytest.mark.parametrize(
    "target", ["other.md#part", "inner/README.md", "picture.png", "#part", "https://kafka.apache.org/"]
)
def test_a_link_within_the_site_stays_as_it_is(docs: Path, target: str) -> None:
    assert site(docs).placed(target, Page(docs / "page.md")).address == target


def test_a_link_to_a_folder_of_pages_leads_to_its_readme(docs: Path) -> None:
    assert site(docs).placed("inner/", Page(docs / "page.md")).address == "inner/README.md"


def test_a_link_to_a_file_of_the_repository_leads_there_or_is_text_while_there_is_no_address(docs: Path) -> None:
    text = "# A\n\nSee [the example](../examples/a.yaml).\n"
    with_address = site(docs, "https://git.example/penstock/blob/v1")
    assert '<a href="https://git.example/penstock/blob/v1/examples/a.yaml">' in with_address.staged(page(docs, text))
    assert "(https://git.example/penstock/blob/v1/examples/a.yaml)" in with_address.as_markdown(page(docs, text))
    staged = site(docs).staged(page(docs, text))
    assert '<span title="examples/a.yaml in the repository">the example</span>' in staged
    assert "<a " not in staged
    assert "See the example (`examples/a.yaml`)." in site(docs).as_markdown(page(docs, text))
    named = page(docs, "# A\n\nSee [a.yaml](../examples/a.yaml) or [`a.yaml`](../examples/a.yaml).\n")
    assert "See `examples/a.yaml` or `examples/a.yaml`." in site(docs).as_markdown(named)


def test_a_link_whose_text_is_a_file_name_has_the_title_of_the_page(docs: Path) -> None:
    assert ">The other page</a>" in site(docs).staged(page(docs, "# A\n\n[other.md](other.md)\n"))


def test_headings_have_githubs_anchors_and_code_has_colors(docs: Path) -> None:
    text = "# A\n## The `b_c`, twice!\n## The `b_c`, twice!\n```yaml\na: [b](c.md)\n```\n"
    staged = site(docs).staged(page(docs, text))
    assert "## The `b_c`, twice! { #the-b_c-twice }" in staged
    assert "## The `b_c`, twice! { #the-b_c-twice-1 }" in staged
    assert '<pre class="highlight"><code tabindex="0"><span class="nt">a</span>' in staged
    assert "a: [b](c.md)" in site(docs).as_markdown(page(docs, text))


def test_lists_and_tables_are_those_of_github_where_the_generator_has_other_rules(docs: Path) -> None:
    text = "# A\nText:\n- one\n  - inner\n1. first\n   - in it\n\nText\n| a | b |\n|---|---|\n| `x\\|y` | 2 |\n"
    staged = site(docs).staged(page(docs, text))
    assert [staged.count(f"<{tag}>") for tag in ("ul", "ol", "li", "table", "tr")] == [3, 1, 4, 1, 2]
    assert "<code>x|y</code>" in staged


def test_the_index_for_programs_has_a_line_for_each_page_with_what_it_is_about(docs: Path) -> None:
    page(docs, "# A\n\nThis page is for all. It describes `this`. More.\n")
    whole = navigation([{"Do": ["page.md", {"Inner": "inner/"}]}], docs)
    assert index(whole, site(docs), "P", "What it is").splitlines() == [
        "# P", "", "> What it is", "", "## Do", "- [A](page.md): It describes this.", "", "## Inner",
        "- [Inner](inner/README.md): ",
    ]  # fmt: skip


def test_versions_are_listed_from_the_newest_and_latest_redirects_each_page(tmp_path: Path) -> None:
    for version in ("0.9", "0.10", "0.2"):
        (tmp_path / version).mkdir()
    add_versions(tmp_path, "0.10", [Entry("A", "index.md"), Entry("B", "b/c.md")])
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(v["version"], v["aliases"]) for v in listed] == [("0.10", ["latest"]), ("0.9", []), ("0.2", [])]
    assert 'location.replace("0.10/"' in (tmp_path / "index.html").read_text()
    assert 'location.replace("../0.10/"' in (tmp_path / "latest" / "index.html").read_text()
    assert 'location.replace("../../../0.10/b/c/"' in (tmp_path / "latest" / "b" / "c" / "index.html").read_text()


def test_an_older_version_that_is_built_again_does_not_become_the_latest(tmp_path: Path) -> None:
    for version in ("0.1", "0.2"):
        (tmp_path / version).mkdir()
    add_versions(tmp_path, "0.2", [Entry("A", "a.md")])
    latest = (tmp_path / "latest" / "a" / "index.html").read_text()
    add_versions(tmp_path, "0.1", [])
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(v["version"], v["aliases"]) for v in listed] == [("0.2", ["latest"]), ("0.1", [])]
    assert (tmp_path / "latest" / "a" / "index.html").read_text() == latest


def test_each_fault_and_each_reason_is_on_the_page_for_debugging() -> None:
    text = text_of("docs/debugging.md").replace("\\|", "|")
    faults = [fault for group in GROUPS.values() for fault in group]
    assert len(faults) > 80
    for fault in faults:
        assert re.search(rf"\| {re.escape(f'{fault.name}: {fault.symptom}')} \|.* {re.escape(fault.remedy)} \|", text)
    fine = {"Running", "Paused", "Stopped", "NotReconciling", "NotStalled", "Accepted", "Verified"}
    asked = Use.READY | Use.IN_PROGRESS | Use.STALLED | Use.TASK | Use.POD_START | Use.API_SERVER
    reasons = [reason for reason in Reason if reason.use & asked and reason not in fine]
    assert len(reasons) > 70
    for reason in reasons:
        assert f"| `{reason}` | {reason.means} |".replace("(#", "(conditions.md#") in text


@pytest.mark.parametrize("kind", ["connectors", "pluginversions", "topiccreationpolicies"])
def test_each_field_of_a_resource_is_on_its_page(kind: str) -> None:
    definition = yaml.safe_load((ROOT / "crds" / f"{kind}.penstock.dev.yaml").read_text())["spec"]
    text = text_of(f"docs/reference/{definition['names']['singular']}.md")
    schema = definition["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert set(re.findall(r"^\| `spec\.(\w+)`", text, re.MULTILINE)) == set(schema["properties"])


@pytest.mark.parametrize("name", ["cli", "crd", "debugging", "metric"])
def test_a_page_made_of_the_code_that_is_out_of_date_is_reported(name: str, tmp_path: Path) -> None:
    for copied in ("docs", "scripts"):
        shutil.copytree(ROOT / copied, tmp_path / copied)
    for linked in ("tests", "crds"):
        (tmp_path / linked).symlink_to(ROOT / linked)
    pages = {"cli": "reference/cli.md", "crd": "reference/connector.md", "debugging": "debugging.md"}
    stale = tmp_path / "docs" / pages.get(name, "reference/metrics.md")
    command = [sys.executable, str(tmp_path / "scripts" / f"generate-{name}-docs"), "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.stderr, done.returncode) == ("", 0)
    stale.write_text(stale.read_text() + "more\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert f"is out of date; run scripts/generate-{name}-docs" in done.stderr
