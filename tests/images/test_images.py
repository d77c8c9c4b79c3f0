"""Claims about the images as they are shipped, checked on their archives."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import penstock

from .unpacked import UID, Image

EVERY = pytest.mark.parametrize(
    "name", ["runtime", "operator", "kafka", "postgresql", pytest.param("registry", marks=pytest.mark.slow)]
)
OURS = pytest.mark.parametrize("name", ["runtime", "operator"])
MODULES = {"runtime": "penstock_runtime", "operator": "penstock_operator"}
TITLES = {
    "runtime": "penstock-runtime",
    "operator": "penstock-operator",
    "kafka": "penstock-demo-kafka",
    "postgresql": "penstock-demo-postgresql",
    "registry": "penstock-demo-registry",
}


@EVERY
def test_it_runs_as_nobody_in_particular(image: Callable[[str], Image], name: str) -> None:
    made = image(name)
    assert made.config["User"] == f"{UID}:{UID}"
    assert made.run("id", "-u").strip() == str(UID)
    assert made.run("id", "-un").strip()  # Hadoop, in Spark, fails for a user without a name


@EVERY
def test_it_says_what_it_is(image: Callable[[str], Image], name: str) -> None:
    labels = image(name).config["Labels"]
    assert labels["org.opencontainers.image.title"] == TITLES[name]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", labels["org.opencontainers.image.version"])
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


@EVERY
def test_it_has_no_tools_to_build_with_and_nothing_to_become_root_with(
    image: Callable[[str], Image], name: str
) -> None:
    tools = re.compile(r"/(pip[\d.]*|gcc[\d.-]*|cc|g\+\+|make|javac|git|curl|wget)$")
    files = image(name).files()
    assert not [path for path in files if tools.search(str(path)) and "share/" not in str(path)]
    assert not [path for path in files if re.search(r"(site|dist)-packages/(pip|hatchling|pytest|mypy)$", str(path))]
    assert not [
        path
        for path in files
        if (image(name).root / str(path)[1:]).lstat().st_mode & 0o6000
        and not (image(name).root / str(path)[1:]).is_dir()
    ]


@EVERY
def test_it_carries_no_caches(image: Callable[[str], Image], name: str) -> None:
    root = image(name).root
    for folder in ("root/.cache", "var/cache", "var/lib/apt/lists", "var/log", "tmp", "mnt"):
        assert not [path for path in (root / folder).glob("**/*") if path.is_file()], folder


@EVERY
def test_nothing_of_the_machine_that_built_it_is_in_it(image: Callable[[str], Image], name: str) -> None:
    made = image(name)
    assert not (made.root / "etc/pip.conf").exists()
    assert not list(made.root.glob("run/secrets/*"))
    told = str(made.config) + str(made.history)
    assert not re.search(r"(?i)pip_(cert|index|extra|conf|trusted)|_proxy|ca\.pem", told)
    hosts = package_hosts()
    text = [path for path in (made.root / "opt").rglob("*") if path.suffix in ("", ".json", ".txt", ".cfg", ".conf")]
    for path in text + list((made.root / "etc").rglob("*")):
        if path.is_file() and path.stat().st_size < 1_000_000:
            content = path.read_bytes()
            assert not [host for host in hosts if host.encode() in content], path
    assert not [host for host in hosts if host in told]


def package_hosts() -> set[str]:
    """The hosts that pip is told of on this machine, other than PyPI's own."""
    done = subprocess.run(
        [os.environ.get("PYTHON") or "python3", "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    hosts = set()
    for line in done.stdout.splitlines():
        key, _, value = line.partition("=")
        if key.endswith(("index-url", "trusted-host", "proxy")):
            for word in str(ast.literal_eval(value)).split():
                hosts.add(urlsplit(word).hostname or word)
    return hosts - {"pypi.org", "files.pythonhosted.org"}


@OURS
def test_every_module_is_compiled_and_of_our_code_only_its_own_part_is_there(
    image: Callable[[str], Image], name: str
) -> None:
    packages = image(name).root / "opt/penstock/lib/python3.11/site-packages"
    for folder in (packages / "penstock", packages / MODULES[name], packages / "pydantic"):
        sources = list(folder.rglob("*.py"))
        assert sources
        for source in sources:
            assert (source.parent / "__pycache__" / f"{source.stem}.cpython-311.pyc").exists(), source
    assert (packages / "penstock_operator").exists() == (name == "operator")


CONSOLE = """
import penstock_operator.web.console
from penstock_web.console.rendering import Renderer
from penstock_web.console.static_files import StaticFiles

print(Renderer(StaticFiles(), "Penstock", is_cluster=True)("base.html", here="/"))
"""


def test_only_the_operator_has_the_console(image: Callable[[str], Image]) -> None:
    assert "console.js" in image("operator").run("python3", "-c", CONSOLE)
    assert not list((image("runtime").root / "opt/penstock").rglob("penstock_web"))


TRIAL = """
import asyncio
import json

from penstock_operator.web.trials import Trials

config = {"transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "inner"}
connector = {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": {"name": "a", "namespace": "b"}}


class Source:
    def plugin_versions(self): return []
    def release(self): return "0"
    def worker(self):
        from penstock_model.connect.worker_config import WorkerConfig
        return WorkerConfig.parse({"bootstrap.servers": "kafka:9092"})


print(asyncio.run(Trials(Source())({**connector, "spec": {"class": "c.D", "config": config}}, '{"value": {"id": 7}}')))
"""


def test_the_operator_tries_built_in_transforms_without_spark(image: Callable[[str], Image]) -> None:
    assert '"inner": {"id": 7}' in image("operator").run("python3", "-c", TRIAL)


LIST_PLUGINS = """
import penstock
from penstock_runtime.plugins.discovery import Plugins

print(penstock.__file__)
print(*(entry.alias for entry in Plugins.installed().entries))
"""


def test_the_runtime_finds_its_plugins(image: Callable[[str], Image]) -> None:
    path, aliases = image("runtime").run("python", "-c", LIST_PLUGINS).splitlines()
    assert path.startswith("/opt/penstock/")
    assert "FileStreamSource" in aliases.split()


@OURS
def test_no_image_has_the_command_line(image: Callable[[str], Image], name: str) -> None:
    installed = image(name).root / "opt/penstock"
    assert not (installed / "bin/penstock").exists()
    assert not list(installed.rglob("penstock_cli"))
    assert not list(installed.rglob("rich"))


SPARK = """
from pathlib import Path

from penstock_runtime.spark.session import Spark
from penstock_runtime.process.scratch import Scratch

with Scratch() as scratch:
    scratch.become_temporary()
    spark = Spark(cores=2, conf={}, name="image", eager=True, scratch=scratch)
    session = spark.session()
    assert session.sparkContext.parallelize(range(100), 2).map(lambda n: n * 2).sum() == 9900
    jvm = session.sparkContext._gateway.proc.pid
    assert "penstock-classes.jsa" in Path(f"/proc/{jvm}/maps").read_text()
    folder = str(scratch.path / "rows")
    rows = session.range(1000).selectExpr("id", "cast(id as string) text", "id % 7 part")
    rows.write.option("compression", "zstd").parquet(folder)
    read = session.read.parquet(folder)
    assert read.where("part = 3").count() == 143
    read.limit(10).write.format("orc").save(folder + "-orc")
    read.limit(10).coalesce(1).write.option("compression", "gzip").json(folder + "-json")
    assert session.read.orc(folder + "-orc").join(read, ["id", "part"]).groupBy("part").count().count() > 0
    spark.stop()
print("counted")
"""


def test_the_runtime_runs_java_plugins_without_fetching_anything(image: Callable[[str], Image]) -> None:
    jar = "/opt/penstock/java-host/connect-transforms-4.3.1.jar"
    asked = f"from penstock_runtime.java_plugins.catalog import plugins_in; print(*plugins_in({jar!r}), sep='\\n')"
    listed = image("runtime").run("python", "-c", asked)
    assert re.search(r"org\.apache\.kafka\.connect\.transforms\.Filter\b.*4\.3\.1", listed)


JAVA = """
from pathlib import Path

import psutil
from penstock_runtime.java_plugins.catalog import plugins_in

assert plugins_in("/opt/penstock/java-host/connect-transforms-4.3.1.jar")
(jvm,) = psutil.Process().children()
assert "/opt/penstock/java-host/penstock-classes.jsa" in Path(f"/proc/{jvm.pid}/maps").read_text()
print("mapped")
"""


def test_the_jvm_of_java_plugins_maps_the_archive_of_its_classes(image: Callable[[str], Image]) -> None:
    assert image("runtime").run("python", "-c", JAVA).strip().endswith("mapped")


def test_spark_runs_where_only_tmp_can_be_written(image: Callable[[str], Image]) -> None:
    made = image("runtime")
    assert made.run("python", "-c", SPARK).strip().endswith("counted")


def test_the_operator_reports_its_options(image: Callable[[str], Image]) -> None:
    made = image("operator")
    assert "usage" in made.run(*made.config["Entrypoint"], "--help").lower()


def test_the_version_in_the_images_is_the_project_s(image: Callable[[str], Image]) -> None:
    asked = "from importlib.metadata import version; print(version('penstock'))"
    here = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert Path(penstock.__file__).exists()
    assert {image(name).run("python3", "-c", asked) for name in MODULES} == {here}
