"""One run of `penstock validate` shows everything that can be known, in our own words and without a secret."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from penstock import ConfigError
from penstock_cli.run import plans
from penstock_model.resources.connector import Connector
from penstock_model.resources.refused_fields import refused_fields
from penstock_runtime.plan.worker_check import worker_from

HEAD = "apiVersion: penstock.dev/v1alpha1\nkind: Connector\nmetadata: {name: a}\n"
FILE = "    file: /tmp/a\n    topic: t\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


def told(file: Path, text: str) -> list[str]:
    """The problems that the commands show, without the place."""
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        plans([str(file)], worker_from({}).config, None)
    return [str(p).rpartition("Connector a: ")[2] for p in caught.value.problems]


def warned(file: Path, text: str) -> Sequence[str]:
    file.write_text(text)
    _, warnings = plans([str(file)], worker_from({}).config, None)
    return [w.rpartition("Connector a: ")[2] for w in warnings]


def test_fields_types_and_properties_are_reported_together(file: Path) -> None:
    found = told(
        file,
        f"{HEAD}spec:\n  class: FileStreamSource\n  restart: 5\n  tasksMax: two\n  state: running\n  config:\n"
        "    topic: t\n    topic: u\n    errors.tolerance: x\n    transforms: h\n    x: null\n    batch.size: z\n",
    )
    assert [f.split(": ")[0] for f in found] == [
        "line 11",
        "spec.tasksMax",
        "spec.state",
        "spec.config.x",
        "spec.restart",
        "transforms.h.type",
        "errors.tolerance",
        "batch.size",
    ]


def test_a_connector_whose_name_is_taken_is_checked_all_the_same(file: Path) -> None:
    good = f"{HEAD}spec:\n  class: FileStreamSource\n  config:\n{FILE}"
    found = told(file, f"{good}---\n{good.replace('topic', 'topik')}")
    assert [f.split(": ")[0] for f in found] == ["metadata.name", "topic"]


def test_what_would_break_a_guarantee_is_refused_as_the_operator_does_and_not_passed_over(file: Path) -> None:
    spec = "  spark: {idleTimeout: 0s, conf: {spark.master: a}}\n"
    text = f"{HEAD}spec:\n  class: FileStreamSource\n{spec}  config:\n    file: /tmp/a\n"
    found = told(file, text)
    refused = [str(p) for p in refused_fields(Connector.draft(yaml.safe_load(text)).spec)]
    assert len(refused) == 2
    assert found[:2] == refused
    assert [f.partition(":")[0] for f in found[2:]] == ["topic"]


def test_a_connector_with_every_default_written_out_is_not_refused_for_them() -> None:
    """A job's request carries it so."""
    text = f"{HEAD}spec:\n  class: FileStreamSource\n  config:\n{FILE}"
    spec = Connector.draft(yaml.safe_load(text)).spec
    whole = type(spec).model_validate(spec.model_dump(mode="json", by_alias=True))
    assert "rollout" in whole.model_fields_set
    assert list(refused_fields(whole)) == []


def test_a_class_in_the_wrong_place_is_used_for_the_check(file: Path) -> None:
    found = told(file, f"{HEAD}spec:\n  config:\n    connector.class: FileStreamSource\n    file: /tmp/a\n")
    assert [f.split(": ")[0] for f in found] == ["spec.class", "spec.config.connector.class", "topic"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("  restart: 5\n", "spec.restart: must be a mapping, not 5; for example, write restart: {maxRestarts: 10}"),
        ("  tasksMax: two\n", "spec.tasksMax: must be a whole number, not 'two'; for example, write tasksMax: 1"),
        ("  tasksMax: '2'\n", "spec.tasksMax: must be a whole number, not '2'; write 2 without quotes"),
        ("  tasksMax: true\n", "spec.tasksMax: must be a whole number, not true; for example, write tasksMax: 1"),
        ("  tasksMax: 1.5\n", "spec.tasksMax: must be a whole number, not 1.5; for example, write tasksMax: 1"),
        (
            "  state: running\n",
            "spec.state: must be 'Running', 'Paused' or 'Stopped', not 'running'; did you mean Running?",
        ),
        (
            "  restart: {policy: onFailure}\n",
            "spec.restart.policy: must be 'OnFailure' or 'Never', not 'onFailure'; did you mean OnFailure?",
        ),
        ("  connectName: 5\n", "spec.connectName: must be a string, not 5; put it in quotes"),
        ("  restart:\n", "spec.restart: must be a mapping, not nothing; indent its fields, or remove it"),
        (
            "  restart: {backoff: {initial: 5}}\n",
            "spec.restart.backoff.initial: must be a duration such as 500ms, 10s, 5m, 1h30m, not 5",
        ),
        (
            "  maxRestarts: 5\n",
            "spec.maxRestarts: is not a field here but of spec.restart; move it there (check its indentation)",
        ),
        (
            "  key.converter: JsonConverter\n",
            "spec.key.converter: is not a field of spec; if it is a property of the "
            "connector, put it under spec.config",
        ),
        (
            "config:\n  file: /tmp/x\n",
            "config: is not a field here but of spec; move it there (check its indentation)",
        ),
        (
            "  template: [hunter2]\n",
            "spec.template: must be a mapping, not a list; for example, write template: {nodeSelector: {disk: ssd}}",
        ),
        (
            "  spark: {conf: {a: [hunter2]}}\n",
            "spec.spark.conf.a: must be a string, a number or a boolean, not a list; write lists as a,b,c",
        ),
    ],
)
def test_a_wrong_field_is_reported_with_what_was_given_and_an_example(file: Path, spec: str, problem: str) -> None:
    config = "" if spec.startswith("config:") else f"  config:\n{FILE}"
    assert told(file, f"{HEAD}spec:\n  class: FileStreamSource\n{config}{spec}") == [problem]


def test_a_text_in_the_place_of_the_configuration_is_not_shown(file: Path) -> None:
    (problem,) = told(file, f"{HEAD}spec:\n  class: FileStreamSource\n  config: hunter2\n")
    assert problem.startswith("spec.config: must be a mapping, not a string; for example, write config: {file:")


@pytest.mark.parametrize("value", ["*hunter2", "&hunter2 ]", "!hunter2 x", "'hunter2", '"hunter2\\q"', "hunter2: x"])
def test_a_text_that_is_not_yaml_is_not_shown(file: Path, value: str) -> None:
    (problem,) = told(file, f"{HEAD}spec:\n  class: FileStreamSource\n  config:\n    password: {value}\n")
    assert "line 7: is not YAML: " in problem
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    ("value", "meant"), [("010", True), ("on", True), ("1_0", True), ("10", False), ("'010'", False)]
)
def test_a_value_that_yaml_spells_otherwise_is_a_warning_that_does_not_show_it(
    file: Path, value: str, *, meant: bool
) -> None:
    found = warned(file, f"{HEAD}spec:\n  class: FileStreamSource\n  config:\n    file: /tmp/a\n    topic: {value}\n")
    assert [w.partition(":")[0] for w in found] == (["topic"] if meant else [])
    assert not any(value in w.partition(": YAML")[2] for w in found if value != "on")


def test_a_number_may_be_spelt_as_one_likes_where_a_number_is_meant(file: Path) -> None:
    extra = "    batch.max.records: 1_000\n    errors.log.enable: yes\n"
    assert warned(file, f"{HEAD}spec:\n  class: FileStreamSource\n  config:\n{FILE}{extra}") == []


@pytest.mark.parametrize(
    "document",
    [{}, {"spec": None}, {"spec": {"config": 1}}, {"metadata": [], "spec": {"class": None}}, {"metadata": {"name": 1}}],
)
def test_any_document_becomes_a_draft_with_its_problems(document: dict[str, object]) -> None:
    assert Connector.draft(document).reading.problems
