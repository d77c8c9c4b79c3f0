"""What operator and pods tell each other keeps its form: golden files, one per version, as an old writer wrote them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError
from penstock_model.contracts.job import (
    Action,
    JobAnswer,
    JobProblem,
    JobRequest,
    OffsetsVerb,
    OffsetsWork,
    Outcome,
    PlanAnswer,
)
from penstock_model.contracts.job_answer import RequestTexts, answer_line, config_reference, read_answer
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.pod_layout import TERMINATION_LIMIT
from penstock_model.contracts.task_reports import (
    Claim,
    Control,
    Report,
    TerminationMessage,
    claim_key,
    control_key,
    report_key,
)
from penstock_model.contracts.task_spec import PluginReference, TaskSpec, TaskState

GOLDEN = Path(__file__).parent / "golden"
EPOCH = PlanEpoch(generation=7, plan="9c1e")
TASK = TaskSpec(
    connector="shop.orders-in",
    task=0,
    tasks=1,
    kind="source",
    config={"password": "${secret:orders-db:password}"},
    plugins={"connector": PluginReference(reference="files:Source", alias="FileStreamSource", version="0.1.0")},
    worker={"bootstrap.servers": "kafka:9092"},
    secrets_dir="/etc/penstock/secrets",
)
MOUNT = PluginMount(
    name="files-1.4.2",
    plugin="penstock-files",
    version="1.4.2",
    image=f"r.example/files@sha256:{'0' * 64}",
    folder="/etc/penstock/plugins/0/plugin",
    classes=(
        DeclaredClass(alias="Files", type="source", java_names=("org.example.Files",)),
        DeclaredClass(alias="Upper", type="transform"),
    ),
)
REPORT = Report(
    connector="shop.orders-in",
    connector_uid="u-1",
    pod_uid="p-1",
    task=0,
    epoch=EPOCH,
    incarnation=3,
    state="FAILED",
    acted=4,
    since=1_795_284_104_327,
    versions={"connector": "0.1.0"},
    trouble="Kafka is away",
    progress="loop",
    message="no such table",
    trace="Traceback",
)
WRITTEN: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "pod-identity-v1": (
        PodIdentity(
            connector_uid="u-1",
            connector_generation=4,
            epoch=EPOCH,
            incarnation=3,
            token="3f1c",
            state=TaskState.PAUSED,
        ),
        PodIdentity.from_json,
    ),
    "job-v1": (
        JobRequest(
            action=Action.PREPARE,
            id="r-1",
            connector={"kind": "Connector", "metadata": {"name": "orders-in"}},
            worker={"bootstrap.servers": "kafka:9092"},
            secrets_dir="/etc/penstock/secrets",
            prepare=True,
            task=TASK,
        ),
        JobRequest.from_json,
    ),
    "job-v1-offsets": (
        JobRequest(
            action=Action.OFFSETS,
            id="r-2",
            connector={"kind": "Connector", "metadata": {"name": "orders-in"}},
            worker={"bootstrap.servers": "kafka:9092"},
            owner="9c1e",
            offsets=OffsetsWork(verb=OffsetsVerb.RESET, generation=7),
        ),
        JobRequest.from_json,
    ),
    "job-v1-list-offsets": (
        JobRequest(
            action=Action.LIST_OFFSETS,
            id="r-3",
            connector={"kind": "Connector", "metadata": {"name": "orders-out"}},
            worker={"bootstrap.servers": "kafka:9092"},
            kind="sink",
        ),
        JobRequest.from_json,
    ),
    "job-v1-mounts": (
        JobRequest(
            action=Action.PLAN,
            id="r-4",
            connector={"kind": "Connector", "metadata": {"name": "orders-in"}},
            worker={"bootstrap.servers": "kafka:9092"},
        ).with_mounts([MOUNT.model_copy(update={"places": ("connector", "transforms.upper")})]),
        JobRequest.from_json,
    ),
    "answer-v1-list-offsets": (
        JobAnswer(id="r-3", action=Action.LIST_OFFSETS, outcome=Outcome.DONE, offsets='{"offsets":[]}'),
        JobAnswer.model_validate_json,
    ),
    "report-v1": (REPORT, Report.of),
    "control-v1": (Control(connector_uid="u-1", generation=5, state=TaskState.PAUSED), Control.of),
    "claim-v1": (
        Claim(
            connector_uid="u-1",
            namespace="shop",
            name="orders-in",
            created="2026-11-21T00:00:00Z",
            operator="penstock-system/penstock",
            cluster="3f1c",
            installation="77aa",
        ),
        Claim.of,
    ),
    "lastword-v1": (
        TerminationMessage(exit_code=1, message="no such table", trace="Traceback", trouble="slow"),
        TerminationMessage.of,
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_version_1_is_written_as_ever(name: str) -> None:
    written, _ = WRITTEN[name]
    text = written.to_value() if hasattr(written, "to_value") else written.model_dump_json(by_alias=True)
    assert json.loads(text) == json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("name", WRITTEN)
def test_version_1_is_read_as_ever_and_fields_of_a_newer_writer_are_ignored(name: str) -> None:
    written, read = WRITTEN[name]
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert read(json.dumps(golden)) == written
    assert read(json.dumps({**golden, "somethingNew": {"a": 1}})) == written


@pytest.mark.parametrize("name", ["pod-identity-v1", "job-v1"])
def test_what_is_of_another_version_is_refused_by_name(name: str) -> None:
    written, read = WRITTEN[name]
    with pytest.raises(ConfigError) as caught:
        read(json.dumps({**json.loads(written.to_json()), "apiVersion": "penstock.dev/other/v9"}))
    assert [p.property for p in caught.value.problems] == ["apiVersion"]


def test_what_is_to_be_done_with_offsets_is_refused_where_it_is_not_known() -> None:
    golden = json.loads((GOLDEN / "job-v1-offsets.json").read_text())
    with pytest.raises(ConfigError) as caught:
        JobRequest.from_json(json.dumps({**golden, "offsets": {"verb": "Copy"}}))
    assert [p.property for p in caught.value.problems] == ["offsets.verb"]


@pytest.mark.parametrize("name", ["report-v1", "control-v1", "claim-v1", "lastword-v1"])
def test_a_record_of_another_version_or_a_tombstone_is_passed_over(name: str) -> None:
    written, read = WRITTEN[name]
    assert read(json.dumps({**json.loads(written.to_value()), "apiVersion": "penstock.dev/other/v9"})) is None
    assert type(written).of(None) is None


def test_keys_are_what_they_ever_were() -> None:
    assert report_key("shop.é", 2) == '["penstock-report","shop.é",2]'.encode()
    assert control_key("c") == b'["penstock-control","c"]'
    assert claim_key("c") == b'["penstock-claim","c"]'


WRITTEN_TEXTS = RequestTexts({"password": " tell-it ", "file": "/data"}, {}, TASK.worker)


def answered(**config: str) -> JobAnswer:
    task = TASK.model_copy(update={"config": config})
    return JobAnswer(
        id="r-1",
        action=Action.PLAN,
        outcome=Outcome.DONE,
        message="m",
        problems=(JobProblem(property="file", message="is missing"),),
        warnings=(JobProblem(property="", message="has nothing to do"),),
        plan=PlanAnswer(
            kind="source", class_name="FileStreamSource", version="0.1.0", exactly_once=True, tasks=(task,)
        ),
        epoch=EPOCH,
    )


def test_an_answer_is_found_among_the_lines_of_a_log() -> None:
    answer = answered(password=" tell-it ", file="/data/part-1")
    line = answer_line(answer, WRITTEN_TEXTS)
    assert read_answer(f"a word\n{line}\nanother", WRITTEN_TEXTS) == answer
    assert read_answer("no answer", WRITTEN_TEXTS) is None
    assert read_answer("penstock-answer: {", WRITTEN_TEXTS) is None


def test_a_line_holds_no_text_that_is_in_the_request() -> None:
    line = answer_line(answered(password=" tell-it ", file="/data/part-1"), WRITTEN_TEXTS)
    assert "tell-it" not in line
    assert "kafka:9092" not in line
    assert "/data/part-1" in line


def test_a_password_that_a_plugin_has_copied_is_named_and_put_in_again() -> None:
    line = answer_line(answered(url=f"https://u:{config_reference('password')}@db"), WRITTEN_TEXTS)
    read = read_answer(line, WRITTEN_TEXTS)
    assert read is not None
    assert read.plan is not None
    assert read.plan.tasks[0].config == {"url": "https://u:tell-it@db"}


def test_an_answer_to_a_request_with_other_properties_is_none() -> None:
    line = answer_line(answered(password=" tell-it "), WRITTEN_TEXTS)
    assert read_answer(line, RequestTexts({}, {}, TASK.worker)) is None


def test_the_line_of_an_answer_is_written_and_read_as_ever() -> None:
    golden = (GOLDEN / "answer-v1-plan.txt").read_text()
    answer = answered(password=" tell-it ", file="/data/part-1")
    assert answer_line(answer, WRITTEN_TEXTS) == golden.strip()
    assert read_answer(golden, WRITTEN_TEXTS) == answer


def test_a_last_word_fits_into_what_kubernetes_keeps_and_keeps_the_message_longest() -> None:
    word = TerminationMessage(exit_code=1, message="m" * 1_000, trace="é" * 16_000)
    text = word.to_message()
    assert len(text.encode()) <= TERMINATION_LIMIT
    read = TerminationMessage.of(text.encode())
    assert read is not None
    assert read.message == word.message
    assert read.trace is not None
    assert read.trace.endswith("é")


def test_the_task_spec_of_a_life_is_that_of_the_plan_made_alive() -> None:
    live = WRITTEN["pod-identity-v1"][0].apply_to(TASK)
    assert (live.generation, live.plan, live.incarnation, live.token, live.state) == (7, "9c1e", 3, "3f1c", "Paused")
    assert live.config == TASK.config


def test_a_text_that_names_no_property_is_in_an_answer_as_its_author_wrote_it() -> None:
    text = "${config:other}/${config:password"
    read = read_answer(answer_line(answered(url=text), WRITTEN_TEXTS), WRITTEN_TEXTS)
    assert read is not None
    assert read.plan is not None
    assert read.plan.tasks[0].config == {"url": text}


@pytest.mark.parametrize("text", [f"{config_reference('file')}x" * 20_000, config_reference("file") * 20_000])
def test_an_answer_of_few_words_that_is_huge_in_full_is_none(text: str) -> None:
    line = answer_line(answered(url=text), WRITTEN_TEXTS)
    assert read_answer(line, RequestTexts({"file": "x" * 1_000_000}, {}, TASK.worker)) is None


def test_an_answer_that_repeats_a_long_text_for_each_of_many_tasks_is_none() -> None:
    texts = RequestTexts({"file": "x" * 1_000_000}, {}, TASK.worker)
    answer = answered(file=texts.config["file"])
    assert answer.plan is not None
    many = answer.model_copy(update={"plan": answer.plan.model_copy(update={"tasks": answer.plan.tasks * 100})})
    assert read_answer(answer_line(answer, texts), texts) == answer
    assert read_answer(answer_line(many, texts), texts) is None


def test_an_answer_full_of_beginnings_is_read_in_time() -> None:
    text = "${config:" * 300_000
    read = read_answer(answer_line(answered(url=text), WRITTEN_TEXTS), WRITTEN_TEXTS)
    assert read is not None
    assert read.plan is not None
    assert read.plan.tasks[0].config == {"url": text}


def test_a_plan_that_yields_is_before_each_other_plan_of_its_generation_and_has_its_owner() -> None:
    yields = PlanEpoch.of_owner(6, "0123456789abcdef", yields=True)
    assert yields.owner == "0123456789abcdef"
    assert yields < PlanEpoch(generation=6, plan="0" * 32) < PlanEpoch.of_owner(7, yields=True)
    assert PlanEpoch.of_owner(5).is_after(yields) is False


def test_an_answer_refers_to_settings_of_its_request() -> None:
    settings = {"spark": {"conf": {"spark.driver.memory": "1g"}}, "java": {"options": ["-Xss2m"]}}
    texts = RequestTexts({}, settings, TASK.worker)
    answer = answered()
    assert answer.plan is not None
    tasks = tuple(t.model_copy(update={"settings": {"spark": settings["spark"]}}) for t in answer.plan.tasks)
    answer = answer.model_copy(update={"plan": answer.plan.model_copy(update={"tasks": tasks})})
    line = answer_line(answer, texts)
    assert "driver.memory" not in line
    assert read_answer(line, texts) == answer
