"""`penstock run --master`: its options, all that is wrong with them at once, and the tasks that can use the cluster."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import ConfigError
from penstock.sink import FrameSink, Sink, SinkConnector
from penstock_cli.spark_cluster import cluster_options, on_cluster
from penstock_model.contracts.task_spec import SparkCluster, TaskSpec
from penstock_model.resources.task_settings import TaskSettings
from penstock_runtime.pipeline.context import TaskContext

MASTER = "spark://spark.example:7077"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("s\n")
    return file


def test_a_task_takes_eight_cores_of_a_cluster_by_default(secret: Path) -> None:
    found = cluster_options(MASTER, secret, ["spark.executor.memory=2g"])
    assert found is not None
    assert found.cluster == SparkCluster(master=MASTER, secret_file=str(secret), cores=8)
    assert found.conf == {"spark.executor.memory": "2g"}
    told = cluster_options(MASTER, secret, ["spark.cores.max=20", "spark.executor.extraJavaOptions=-Da=b"])
    assert told is not None
    assert (told.cluster.cores, told.conf) == (20, {"spark.executor.extraJavaOptions": "-Da=b"})


def test_without_a_master_there_is_no_cluster() -> None:
    assert cluster_options(None, None, []) is None


@pytest.mark.parametrize(
    "master", ["spark://a:7077,b:7077", "spark://[::1]:7077", "spark://10.0.0.1:1", "spark://spark-master:65535"]
)
def test_masters_of_a_standalone_cluster_are_taken(secret: Path, master: str) -> None:
    assert cluster_options(master, secret, []) is not None


@pytest.mark.parametrize(
    "master",
    [
        "local[4]",
        "yarn",
        "k8s://https://x:6443",
        "spark://x",
        "spark://x:7077/path",
        "spark://",
        "",
        "x:7077",
        "spark://x:99999",
        "spark://x:7077,y:0",
    ],
)
def test_another_master_is_refused(secret: Path, master: str) -> None:
    with pytest.raises(ConfigError, match=r"--master: .* is not a standalone Spark cluster; write spark://HOST:PORT"):
        cluster_options(master, secret, [])


def test_all_that_is_wrong_is_reported_together(tmp_path: Path) -> None:
    given = [
        "spark.task.maxFailures=4",
        "spark.authenticate=false",
        "spark.cores.max=many",
        "spark.executor.memory=much",
        "memory=2g",
        "spark.ui.port",
    ]
    with pytest.raises(ConfigError) as raised:
        cluster_options("local", tmp_path / "none", given)
    assert [p.property for p in raised.value.problems] == [
        "--master",
        "",
        "--spark-conf",
        "--spark-conf",
        "--spark-conf spark.task.maxFailures",
        "--spark-conf spark.authenticate",
        "--spark-conf spark.cores.max",
        "--spark-conf spark.executor.memory",
    ]


def test_a_master_without_a_secret_is_refused_with_what_the_cluster_needs() -> None:
    with pytest.raises(ConfigError, match=r"--master-secret: is missing: .* spark.network.crypto.enabled=true"):
        cluster_options(MASTER, None, [])


def test_an_empty_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("\n")
    with pytest.raises(ConfigError, match=r"it is empty; write Spark's spark.authenticate.secret into it"):
        cluster_options(MASTER, tmp_path / "secret", [])


def test_options_of_a_cluster_are_refused_without_one(secret: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        cluster_options(None, secret, ["spark.executor.memory=2g"])
    assert [p.property for p in raised.value.problems] == ["--master-secret", "--spark-conf"]


class Anywhere(SinkConnector):
    """A sink that says that it can be written from any machine."""

    def __init__(self, half: type[Sink]) -> None:
        self._half = half

    def writes_anywhere(self, config: Any) -> bool:
        return True

    def sink(self, config: Any) -> Sink:
        return self._half()


class Frames(FrameSink):
    def put_frame(self, frame: Any) -> None:
        raise AssertionError("no frame")


@pytest.mark.parametrize("half", [Sink, Frames])
def test_a_sink_that_says_that_it_can_be_written_from_any_machine_is_given_the_cluster(
    secret: Path, half: type[Sink]
) -> None:
    options = cluster_options("spark://a:7077", secret, [])
    fields: dict[str, Any] = {
        "connector": "c",
        "plugins": {"connector": SimpleNamespace(alias="A")},
    }
    spec = TaskSpec.model_construct(**fields)
    context = cast("TaskContext", SimpleNamespace(connector=Anywhere(half), plugin_config=None, spec=spec))
    (found,) = on_cluster([spec], context, options)
    assert found.spark_cluster is not None


def test_executors_of_kubernetes_are_reported_as_without_effect_on_one_machine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fields: dict[str, Any] = {"connector": "c"}
    spec = TaskSpec.model_construct(**fields)
    settings = TaskSettings.of_task({"spark": {"executors": {"max": 2}}})
    context = cast("TaskContext", SimpleNamespace(spec=spec, task_settings=settings))
    assert on_cluster([spec], context, None) == [spec]
    assert "c: spec.spark.executors has an effect on Kubernetes only" in caplog.text
