"""What a pod says whose JVM of Java plugins runs out of memory: what happened, and what to raise."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.java.probe_plugin import SOURCE, Probe, host_jvms, probe

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, Outcome
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_runtime.process import cgroup

from ..pods import Pods, PodTask, pods, shown
from ..running import new_name, until
from .test_jobs import STRING, alive, problems

__all__ = ["Probe", "pods", "probe"]

POD = {"PENSTOCK_POD_UID": "u-1"}


@pytest.fixture
def mount(probe: Probe) -> PluginMount:
    """The probe as the mount of a pod."""
    declared = DeclaredClass(alias="ProbeSource", type="source", java_names=(SOURCE,))
    return PluginMount(
        name="java",
        plugin=SOURCE,
        version="1.0.0",
        image=f"quay.example/connect@sha256:{'0' * 64}",
        folder=str(probe.folder / "probe"),
        runtime="Java",
        classes=(declared,),
        places=("connector",),
    )


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a memory limit of 400 MiB, in which the OOM killer kills one process at a time."""
    name, limit = new_name("penstock"), str(400 << 20)
    for folder, file in ((cgroup.ROOT / "memory" / name, "memory.limit_in_bytes"), (cgroup.ROOT / name, "memory.max")):
        try:
            folder.mkdir()
            (folder / file).write_text(limit)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        yield folder
        folder.rmdir()
        return
    pytest.skip("needs the right to create control groups with a memory limit")


def source(topic: str, java: dict[str, Any] | None = None, **config: Any) -> dict[str, Any]:
    given = {**STRING, "topic": topic, **{k.replace("_", "."): v for k, v in config.items()}}
    return shown(new_name(), "shop", **{"class": SOURCE, "config": given, **({"java": java} if java else {})})


def started(
    pods: Pods, mount: PluginMount, topic: str, heap: str, before: tuple[str, ...] = (), **config: Any
) -> PodTask:
    answer = pods.answer(Action.PLAN, source(topic, **config), mounts=[mount], prepare=True)
    assert answer.outcome is Outcome.DONE, problems(answer)
    assert answer.plan is not None
    spec = alive(answer.plan.tasks[0].with_mounts([mount]), answer.epoch)
    return pods.task(spec, env={"PENSTOCK_JAVA_HEAP": heap}, before=before)


@pytest.mark.slow
def test_a_task_whose_heap_is_full_says_so_and_which_limit_to_raise(pods: Pods, mount: PluginMount) -> None:
    task = started(pods, mount, pods.lab.topic(), "96m", poll_action="memory", at=300)
    assert task.process.await_exit() == ExitCode.FAILED, task.process.last_words()
    said = str(task.last_word().message)
    assert f"cannot poll {SOURCE}: its JVM ran out of memory with a heap of 96m: Java heap space; raise spec." in said
    assert "spec.template.resources.limits.memory or spec.java.heapPercent, or reduce the connector's poll size" in said


@pytest.mark.slow
def test_a_task_whose_jvm_the_oom_killer_has_killed_says_so_and_is_a_loss(
    pods: Pods, mount: PluginMount, group: Path
) -> None:
    within = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
    task = started(pods, mount, pods.lab.topic(), "900m", within, poll_action="memory", at=300)
    assert task.process.await_exit() == ExitCode.LOST, task.process.last_words()
    word = task.last_word()
    assert word.reason == "OOMKilled"
    said = str(word.message)
    assert f"cannot poll {SOURCE}: its JVM was killed by the kernel's OOM killer: with a heap of 900m the" in said
    assert "more than its memory limit of 400 MiB; raise spec.template.resources.limits.memory, or lower spec" in said


@pytest.mark.parametrize("place", ["validate", "taskConfigs"])
def test_a_plan_whose_jvm_ran_out_of_memory_is_tried_again_and_names_the_setting_of_the_release(
    pods: Pods, mount: PluginMount, place: str
) -> None:
    resource = source("t", None, **{f"{place}_action": "memory"})
    env = {**POD, "PENSTOCK_JAVA_HEAP": "96m"}
    answer = pods.answer(Action.PLAN, resource, mounts=[mount], env=env)
    assert (answer.outcome, answer.problems) == (Outcome.FAILED, ())
    assert f" {SOURCE}: its JVM ran out of memory with a heap of 96m: Java heap space" in answer.message
    assert "raise job.resources.limits.memory of the release" in answer.message


def test_a_problem_of_the_configuration_is_reported_though_the_jvm_ran_out_of_memory(
    pods: Pods, mount: PluginMount
) -> None:
    resource = source("t", validate_action="memory", errors_tolerance="some")
    env = {**POD, "PENSTOCK_JAVA_HEAP": "96m"}
    answer = pods.answer(Action.PLAN, resource, mounts=[mount], env=env)
    assert answer.outcome is Outcome.INVALID
    assert [p.property for p in answer.problems] == ["errors.tolerance"]


def test_options_reach_the_jvm_that_plans_and_the_jvm_of_the_task(pods: Pods, mount: PluginMount) -> None:
    options = ["-Duser.timezone=Asia/Tokyo", "-XX:+UseParallelGC", "-XX:+PrintCommandLineFlags"]
    resource = source(pods.lab.topic(), {"heapPercent": 60, "options": options})
    job = pods.job(Action.PLAN, resource, mounts=[mount], prepare=True)
    answer = job.answer
    assert answer is not None
    assert answer.outcome is Outcome.DONE, problems(answer)
    assert answer.plan is not None
    assert "-XX:+UseParallelGC" in job.stderr  # printed by the JVM that plans
    task = pods.task(alive(answer.plan.tasks[0].with_mounts([mount]), answer.epoch))
    task.await_report("RUNNING")
    (jvm,) = until(lambda: host_jvms(task.process), what=task.process.last_words)
    command = jvm.cmdline()
    assert set(options) <= set(command)
    assert "-XX:+UseSerialGC" not in command  # there can be one collector
    assert command.index("-XX:+ExitOnOutOfMemoryError") > command.index(options[-1])
    task.process.stop()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-XX:NoSuchFlag=1"], "spec.java.options: the JVM rejects the options: Unrecognized VM option 'NoSuchFlag=1'"),
        (
            ["-XX:HeapDumpPath=/no/such/folder/a.hprof"],
            "spec.java.options[0]: folder /no/such/folder does not exist",
        ),
        (["-Xmx1g"], "spec.java.options[0]: cannot be -Xmx1g: spec.java.heapPercent sets the heap"),
    ],
)
def test_an_option_that_cannot_be_used_is_a_problem_in_addition_to_all_others(
    pods: Pods, mount: PluginMount, options: list[str], told: str
) -> None:
    resource = source("t", {"options": options}, errors_tolerance="some")
    answer = pods.answer(Action.PLAN, resource, mounts=[mount])
    assert answer.outcome is Outcome.INVALID
    assert any(p.startswith(told) for p in problems(answer)), problems(answer)
    assert "errors.tolerance" in [p.property for p in answer.problems]
