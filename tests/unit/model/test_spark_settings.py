"""Which of Spark's settings a Connector may have: one rule for `penstock validate`, `penstock run` and the operator."""

import pytest
from tests.words import words

from penstock_model.resources.spark_settings import REFUSED, reason_against, refused_on_cluster, refused_settings


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("spark.task.maxFailures", "deliver its records twice"),
        ("spark.stage.maxConsecutiveAttempts", "deliver its records twice"),
        ("spark.speculation", "deliver its records twice"),
        ("spark.speculation.quantile", "deliver its records twice"),
        ("spark.excludeOnFailure.enabled", "Spark would run no job, because Penstock"),
        (
            "spark.scheduler.executorTaskExcludeOnFailureTime",
            "Spark would run no job, because Penstock does not let it repeat",
        ),
        ("spark.master", "in the task's own process"),
        ("spark.task.cpus", "one worker for each core"),
        ("spark.submit.deployMode", "nothing is submitted"),
        ("spark.submit.pyFiles", "the modules of its plugins"),
        ("spark.deploy.recoveryMode", "for a Spark cluster"),
        ("spark.remote", "in the task's own process"),
        ("spark.dynamicAllocation.enabled", "there are no executors"),
        ("spark.executor.instances", "there are no executors"),
        ("spark.decommission.enabled", "there are no executors"),
        ("spark.executor.decommission.killInterval", "there are no executors"),
        ("spark.storage.decommission.enabled", "there are no executors"),
        ("spark.python.worker.reuse", "keeps its Kafka clients and its transactional id"),
        ("spark.python.daemon.module", "Penstock starts the workers"),
        ("spark.local.dir", "TMPDIR"),
        ("spark.driver.bindAddress", "need no password"),
        ("spark.driver.host", "need no password"),
        ("spark.driver.port", "the same port"),
        ("spark.blockManager.port", "the same port"),
        ("spark.driver.defaultJavaOptions", "use spark.driver.extraJavaOptions"),
    ],
)
def test_a_spark_setting_that_would_break_a_guarantee_is_refused_with_its_reason(name: str, reason: str) -> None:
    (problem,) = refused_settings({"spark.ui.enabled": "true", name: "x"})
    assert problem.property == f"spec.spark.conf.{name}"
    assert problem.message.startswith("cannot be set: ")
    assert reason in problem.message


def test_all_settings_that_are_refused_are_reported_together() -> None:
    names = ["spark.master", "spark.speculation", "spark.submit.pyFiles", "spark.driver.port"]
    assert [p.property for p in refused_settings(dict.fromkeys([*names, "spark.jars"], "x"))] == [
        f"spec.spark.conf.{name}" for name in names
    ]


@pytest.mark.parametrize("value", ["1", "hunter2"])
def test_a_refused_setting_is_refused_with_any_value_and_the_value_is_not_shown(value: str) -> None:
    (problem,) = refused_settings({" spark.task.maxFailures ": value})
    assert value not in problem.message


@pytest.mark.parametrize(
    "name",
    words("""
        spark.driver.memory spark.driver.extraJavaOptions spark.driver.extraClassPath spark.jars spark.jars.packages
        spark.sql.shuffle.partitions spark.sql.session.timeZone spark.sql.adaptive.enabled
        spark.sql.catalog.lake.warehouse spark.hadoop.fs.s3a.endpoint spark.ui.enabled spark.executorEnv.TZ
        spark.executor.heartbeatInterval spark.executor.pyspark.memory spark.app.name spark.task.reaper.enabled
        spark.python.worker.idleTimeoutSeconds spark.scheduler.mode spark.submit spark.masters spark.stages
        fs.s3a.endpoint
    """),
)
def test_every_other_spark_setting_is_the_users(name: str) -> None:
    assert reason_against(name) is None


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_setting_says_what_to_do(name: str) -> None:
    reason = reason_against(f"{name}x" if name.endswith(".") else name)
    assert reason is not None
    assert "remove it" in reason or "use spark." in reason


@pytest.mark.parametrize(
    "name", ["spark.executor.memory", "spark.executor.cores", "spark.pyspark.python", "spark.driver.host"]
)
def test_settings_of_executors_are_only_for_a_cluster(name: str) -> None:
    assert reason_against(name) is not None
    assert reason_against(name, on_cluster=True) is None


@pytest.mark.parametrize(
    "name",
    [
        "spark.authenticate",
        "spark.authenticate.secret",
        "spark.network.crypto.enabled",
        "spark.io.encryption.enabled",
        "spark.python.unix.domain.socket.enabled",
        "spark.task.maxFailures",
        "spark.master",
        "spark.pyspark.driver.python",
    ],
)
def test_what_guarantees_rest_on_is_refused_on_a_cluster_too(name: str) -> None:
    assert [p.property for p in refused_on_cluster({name: "x", "spark.ui.enabled": "true"})] == [f"--spark-conf {name}"]


def test_of_executors_in_pods_only_the_memory_is_a_setting() -> None:
    assert reason_against("spark.executor.memory", in_pods=True) is None
    for name in ("spark.executor.cores", "spark.dynamicAllocation.enabled", "spark.executor.instances"):
        assert "spec.spark.executors (max, resources)" in (reason_against(name, in_pods=True) or "")
    refused = ["spark.authenticate", "spark.port.maxRetries", "spark.driver.host", "spark.task.maxFailures"]
    conf = dict.fromkeys([*refused, "spark.executor.memory", "spark.ui.enabled"], "x")
    assert [p.property for p in refused_settings(conf, in_pods=True)] == [f"spec.spark.conf.{name}" for name in refused]


def test_settings_of_executors_name_the_field_that_gives_them() -> None:
    assert "set spec.spark.executors" in (reason_against("spark.executor.memory") or "")
